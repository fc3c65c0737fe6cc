"""A budget of calls is counted, whatever the calls are."""

import json

import pytest
from runs import ask, ask_rounds, step, verdicts

from antiloop import LoopDetector, LoopPolicy, ToolCall
from antiloop.loop_detection import CallLimitDetector, Escalation, LoopAction

READS = [step("read", f"page {n}", n=n) for n in range(120)]


def test_a_call_beyond_the_limit_is_found():
    assert ask(CallLimitDetector(5), *READS[:5]) is None
    found = ask(CallLimitDetector(5), *READS[:6])
    assert found.detector_name == "call_limit"
    assert found.message.startswith("6 calls were made")
    assert (found.details["count"], found.details["limit"]) == (6, 5)
    assert found.indices == (5,)
    assert json.loads(json.dumps(found.details)) == found.details


def test_a_limit_may_be_larger_than_the_window():
    assert ask(LoopDetector([CallLimitDetector(100)]), *READS[:100]) is None
    assert ask(LoopDetector([CallLimitDetector(100)]), *READS[:101]) is not None


def test_siblings_are_calls_as_well():
    assert ask_rounds(CallLimitDetector(5), READS[:3], READS[3:5]) is None
    assert ask_rounds(CallLimitDetector(5), READS[:3], READS[3:6]) is not None


def test_a_tool_may_have_a_limit_of_its_own():
    detector = CallLimitDetector(per_tool={"search": 2})
    searches = [step("search", "found", q=n) for n in range(3)]
    assert ask(detector, *READS[:50], *searches[:2]) is None
    found = ask(detector, *READS[:50], *searches)
    assert found.message.startswith("Tool 'search' was called 3 times")
    assert (found.details["tool"], found.details["limit"]) == ("search", 2)


def test_the_limit_of_one_tool_is_no_matter_of_the_others():
    searches = [step("search", "found", q=n) for n in range(9)]
    assert ask(CallLimitDetector(per_tool={"search": 2}), *searches, READS[0]) is None


def test_a_run_beyond_its_limit_stays_there():
    detector = LoopDetector([CallLimitDetector(2)], LoopPolicy.STOP)
    actions = [
        verdict.action.value for verdict in verdicts(detector, *[[each] for each in READS[:4]])
    ]
    assert actions == ["continue", "continue", "stop", "stop"]


class TestBlocking:
    search = ToolCall("search", {"q": "more"})
    read = ToolCall("read", {"n": 99})

    def test_a_run_over_its_budget_may_call_nothing_more(self):
        monitor = over_budget(CallLimitDetector(2), READS)
        assert {monitor.before(call).action.value for call in (self.search, self.read)} == {"block"}
        assert "the budget is 2" in monitor.before(self.search).message

    def test_a_tool_over_its_budget_is_refused_whatever_the_arguments(self):
        monitor = over_budget(CallLimitDetector(per_tool={"read": 2}), READS)
        assert monitor.before(self.read).action.value == "block"
        assert monitor.before(self.search).action.value == "continue"

    def test_a_budget_stays_used_up_while_other_tools_are_called(self):
        monitor = over_budget(CallLimitDetector(per_tool={"read": 2}), READS)
        for number in range(60):
            monitor.record_call("search", {"q": number}, f"found {number}")
        verdict = monitor.before(self.read)
        assert verdict.action.value == "block"
        # None of the three calls that used it up is left, so it points at the last call alone.
        assert verdict.detection.indices == (62,)

    def test_a_refused_call_is_refused_again(self):
        monitor = over_budget(CallLimitDetector(per_tool={"read": 2}), READS)
        refused = monitor.before(self.read).message
        assert monitor.after([self.read], [refused]).action.value == "block"
        assert monitor.before(self.read).action.value == "block"

    def test_the_user_opens_a_new_turn(self):
        monitor = over_budget(CallLimitDetector(2, per_turn=True), READS)
        monitor.user_message()
        assert monitor.before(self.read).action.value == "continue"

    def test_a_restored_run_still_has_no_budget_left(self):
        monitor = over_budget(CallLimitDetector(2), READS)
        state = json.loads(json.dumps(monitor.snapshot()))
        monitor.reset()
        monitor.restore(state)
        assert monitor.before(self.search).action.value == "block"


def over_budget(detector, steps):
    """Return the monitor of a run that has just gone over a budget of two calls."""
    monitor = LoopDetector([detector], Escalation(("block",))).monitor()
    for call, result in steps[:3]:
        monitor.after([call], [result])
    return monitor


def test_a_detector_without_any_limit_is_refused():
    with pytest.raises(ValueError, match="give limit, per_tool or both"):
        CallLimitDetector()


@pytest.mark.parametrize("limit", [0, -1, True, 2.5])
def test_a_limit_that_could_mean_nothing_is_refused(limit):
    with pytest.raises(ValueError, match="1 or more, got"):
        CallLimitDetector(limit)
    with pytest.raises(ValueError, match="1 or more, got"):
        CallLimitDetector(per_tool={"read": limit})


def test_a_turn_has_its_own_count_only_where_it_is_asked_for():
    whole, turn = (
        LoopDetector([CallLimitDetector(3, per_turn=per_turn)], "stop").monitor()
        for per_turn in (False, True)
    )
    said = []
    for number in range(5):
        if number == 3:
            whole.user_message()
            turn.user_message()
        verdicts = [each.record_call("read", {"n": number}, "x") for each in (whole, turn)]
        said.append([verdict.action.value for verdict in verdicts])
    assert said == [["continue"] * 2] * 3 + [["stop", "continue"]] * 2


def test_a_tool_has_its_own_count_in_the_turn():
    monitor = LoopDetector(
        [CallLimitDetector(per_tool={"read": 2}, per_turn=True)], "stop"
    ).monitor()
    for number in range(4):
        if number == 2:
            monitor.user_message()
        verdict = monitor.record_call("read", {"n": number}, "x")
    assert verdict.action.value == "continue"
    assert monitor.record_call("read", {"n": 9}, "x").action.value == "stop"


@pytest.mark.parametrize("per_turn", [False, True])
def test_a_compaction_gives_no_call_back_and_progress_does(per_turn):
    detector = LoopDetector([CallLimitDetector(3, per_turn=per_turn)], LoopPolicy.BLOCK)
    monitor, ran = detector.monitor(), 0
    for number, (call, result) in enumerate(READS[:30]):
        if number % 5 == 0:
            monitor.forgot()
        if monitor.before(call).action is LoopAction.CONTINUE:
            monitor.after([call], [result])
            ran += 1
    assert ran == 4  # the call beyond the limit is what blocks those after it
    monitor.mark_progress()
    assert monitor.before(call).action is LoopAction.CONTINUE
