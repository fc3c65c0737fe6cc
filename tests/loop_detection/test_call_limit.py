"""A budget of calls is counted, whatever the calls are."""

import json

import pytest
from runs import ask, ask_rounds, step, verdicts

from antiloop import LoopDetector, LoopPolicy
from antiloop.loop_detection import CallLimitDetector

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


def test_a_detector_without_any_limit_is_refused():
    with pytest.raises(ValueError, match="give limit, per_tool or both"):
        CallLimitDetector()


@pytest.mark.parametrize("limit", [0, -1, True, 2.5])
def test_a_limit_that_could_mean_nothing_is_refused(limit):
    with pytest.raises(ValueError, match="1 or more, got"):
        CallLimitDetector(limit)
    with pytest.raises(ValueError, match="1 or more, got"):
        CallLimitDetector(per_tool={"read": limit})
