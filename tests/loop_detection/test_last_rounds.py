"""What is judged is the last round: what lies before it, beside it, or came twice."""

from runs import ask, ask_rounds, step

from antiloop import LoopDetection, LoopDetector, RepeatDetector, StallDetector, ToolCall
from antiloop.loop_detection import Escalation, LoopAction, NoEffectDetector
from antiloop.loop_detection._ladder import Climb

EDIT = step("edit", "nothing was changed", path="a.py", old="x", new="y")


def test_the_same_edit_is_found_while_it_goes_on():
    assert ask(NoEffectDetector(2), EDIT, EDIT) is not None
    assert ask(NoEffectDetector(2), EDIT, EDIT, step("look", "closed")) is None


def test_where_nothing_can_be_refused_the_ladder_goes_on_to_its_end():
    climb, found = Climb(Escalation()), LoopDetection("d", "m", identity="d:1", refused=())
    actions = []
    for number in (1, 2):
        taken = climb.step(found, number)
        climb.remember(found, taken, number, 0)
        actions.append(taken.action)
    assert actions == [LoopAction.NOTIFY, LoopAction.STOP]


def test_of_siblings_that_ask_for_other_things_one_stands_for_the_round_in_any_order():
    siblings = [step("get", "404", url=url) for url in ("/alpha", "/beta")]
    last = [step("get", "404", url="/gamma")]
    found = ask_rounds(StallDetector(2), siblings, last)
    other = ask_rounds(StallDetector(2), siblings[::-1], last)
    assert sorted([found.indices, other.indices]) == [(0, 2), (1, 2)]


def test_a_call_that_is_reported_again_counts_once_beside_one_without_a_result():
    monitor = LoopDetector([RepeatDetector(9)]).monitor()
    first, second = (ToolCall("look", {"at": each}, id=each, round=0) for each in "ab")
    monitor.after([first], ["closed"])
    monitor.after([first, second], ["closed"])
    assert monitor.call_count == 2


def test_a_loop_says_in_short_who_found_it():
    found = RepeatDetector(2).check([ToolCall("look")] * 2, [])
    assert repr(found).startswith("LoopDetection('repeat', \"Tool 'look' was called")
