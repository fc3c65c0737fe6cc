"""A ladder that is loaded remembers no more than one that has climbed."""

from antiloop import Escalation
from antiloop.loop_detection._blocks import MAX_BLOCKS
from antiloop.loop_detection._ladder import MAX_CALLS, MAX_LOOPS, Ladder


def test_a_state_that_holds_too_much_is_cut_to_what_came_last():
    ladder, many = Ladder(Escalation()), range(2 * MAX_CALLS)
    loops = [[f"loop {each}", 1, 1, 1, 1, 1, 1] for each in many]
    calls = [[f"call {each}", 1, None, -1] for each in many]
    blocks = [[f"loop {each}", "repeat", ["call"], False, "why"] for each in many]
    main = {"loops": loops, "calls": calls, "forgotten": 0}
    ladder.load({"main": main, "own": {}, "interventions": 0, "blocks": blocks})
    kept = ladder.to_dict()
    assert kept["main"]["loops"] == loops[-MAX_LOOPS:]
    assert kept["main"]["calls"] == calls[-MAX_CALLS:]
    assert kept["blocks"] == blocks[-MAX_BLOCKS:]
