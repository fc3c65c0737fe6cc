"""A stretch in which nothing is new, in any order, and the boundary of it."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import LoopDetector, ToolCall, ToolPolicy, ToolResult
from antiloop.loop_detection import StandstillDetector


def acted(preset, names, answer="the same"):
    """Return the number and the action of each verdict on calls that are named by letters."""
    monitor = preset.monitor()
    verdicts = [monitor.record_call(name, {}, answer) for name in names]
    return [(at, each.action.value) for at, each in enumerate(verdicts, 1) if each.detection]


def of(pattern, count=30):
    return list(itertools.islice(itertools.cycle(pattern), count))


@pytest.mark.parametrize("pattern", ["aab", "abaab", "abc", "aabb", "abcd", "abcde"])
def test_the_patient_preset_stops_any_loop_at_thirty_outcomes_without_progress(pattern):
    assert acted(LoopDetector.patient(), of(pattern)) == [(30, "stop")]
    breaker = LoopDetector.patient(global_circuit_breaker_threshold=40)
    assert acted(breaker, of(pattern, 40)) == [(40, "stop")]


@pytest.mark.parametrize("pattern", ["a", "ab"])
def test_it_has_three_levels_below_which_nothing_happens(pattern):
    found = acted(LoopDetector.patient(), of(pattern))
    assert found[:2] == [(10, "notify"), (20, "block")]
    assert found[-1] == (30, "stop")


def test_refusals_are_no_news():
    monitor = LoopDetector.patient().monitor()
    actions = []
    for _ in range(30):
        refused = monitor.before(ToolCall("look")).message
        result = ToolResult(refused, is_error=True) if refused else "the same"
        actions.append(monitor.after([ToolCall("look")], [result]).action.value)
    assert actions[29] == "stop"


def test_a_poll_of_which_only_the_timestamp_changes_makes_no_progress():
    monitor = LoopDetector.patient().monitor()
    answers = (f'{{"state": "running", "timestamp": {number}}}' for number in range(30))
    actions = [monitor.record_call("command_status", {}, each).action.value for each in answers]
    assert [at for at, each in enumerate(actions, 1) if each != "continue"][:2] == [10, 20]
    assert actions[29] == "stop"


@given(st.lists(st.sampled_from("abc"), min_size=6, max_size=12))
def test_it_speaks_where_each_call_came_at_least_twice(names):
    calls = [ToolCall(name) for name in names]
    found = StandstillDetector(6).check(calls, ["the same"] * len(calls))
    last = names[-6:]
    assert (found is not None) == (min(map(last.count, last)) >= 2)
    if found:
        assert found.details["count"] == 6
        assert len(found.indices) == 6


def test_one_new_call_or_result_begins_another_stretch():
    detector = StandstillDetector(4)
    same = [ToolCall("a")] * 4
    assert detector.check(same, ["x"] * 4).message == "4 rounds in a row brought nothing new."
    assert detector.check(same, ["x", "x", "x", "y"]) is None
    in_turn = detector.check([ToolCall("a"), ToolCall("b")] * 2, ["x"] * 4)
    assert (detector.check(same, ["x"] * 4).period, in_turn.period) == (1, 2)
    assert detector.check([*same[:3], ToolCall("b")], ["x"] * 4) is None
    assert detector.check(same[:3], ["x"] * 3) is None


def test_a_tool_may_have_a_higher_or_a_lower_threshold():
    for threshold, first in ((4, 4), (8, 8)):
        tools = {"look": ToolPolicy(thresholds={"standstill": threshold})}
        detector = LoopDetector([StandstillDetector(6)], tools=tools)
        assert acted(detector, ["look"] * 8)[0] == (first, "raise")


@pytest.mark.parametrize("threshold", [1, 0, True, "6"])
def test_a_stretch_of_less_than_two_is_refused(threshold):
    with pytest.raises(ValueError, match="threshold must be a whole number, 2 or more"):
        StandstillDetector(threshold)
