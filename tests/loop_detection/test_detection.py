"""A detection says who found what, where, and what makes it the same loop next time."""

import json
import pickle

import pytest
from runs import ask, ask_rounds, failed, step

from antiloop import LoopDetectedError, PingPongDetector, RepeatDetector, StallDetector, ToolCall
from antiloop.loop_detection import (
    FailureStreakDetector,
    LoopAction,
    LoopSeverity,
    LoopVerdict,
)

LS, CAT = step("ls", "a b", path="."), step("cat", "hello", path="a")


def test_the_same_loop_is_the_same_whenever_it_is_met():
    one = ask(RepeatDetector(3), LS, LS, LS)
    other = ask(RepeatDetector(2), CAT, LS, LS)
    assert one.identity == other.identity
    assert one.identity.startswith("repeat:")


def test_other_calls_are_another_loop():
    assert ask(RepeatDetector(2), LS, LS).identity != ask(RepeatDetector(2), CAT, CAT).identity


def test_loops_of_different_kinds_are_different_loops():
    repeat, stall = (ask(kind(2), LS, LS) for kind in (RepeatDetector, StallDetector))
    assert repeat.identity != stall.identity


def test_call_ids_of_the_last_calls_are_given_where_there_are_any():
    calls = [ToolCall("ls", {}, id=name) for name in ("one", None, "three")]
    assert RepeatDetector(3).check(calls, []).call_ids == ("three",)
    assert RepeatDetector(2).check(calls[:2], []).call_ids == ()


def test_wasted_calls_are_all_but_the_first_lap():
    assert ask(RepeatDetector(2), *[LS] * 5).wasted_calls == 4
    assert ask(PingPongDetector(2, 2), *[LS, CAT] * 4).wasted_calls == 6


def test_members_are_the_calls_that_make_up_the_loop_each_once():
    assert len(ask(RepeatDetector(2), LS, LS, LS).members) == 1
    assert len(ask(PingPongDetector(2, 2), *[LS, CAT] * 2).members) == 2
    misses = [failed("get", "boom", page=n) for n in range(4)]
    assert len(ask(FailureStreakDetector(), *misses).members) == 4


def test_a_detection_is_a_warning_until_a_policy_says_more():
    assert ask(RepeatDetector(2), LS, LS).severity is LoopSeverity.WARNING


def test_details_are_plain_json():
    hostile = step("ls", "a b", path=object(), data=b"\xff", tags={1, "a"}, text="\ud800")
    found = ask_rounds(RepeatDetector(2), [hostile, CAT], [CAT, hostile])
    assert json.loads(json.dumps(found.details)) == found.details


def test_the_error_survives_pickling_with_its_detection():
    found = ask(RepeatDetector(2), LS, LS)
    error = pickle.loads(pickle.dumps(found.as_error()))
    assert isinstance(error, LoopDetectedError)
    assert (error.message, error.detector, error.details) == (
        found.message,
        "repeat",
        found.details,
    )
    assert error.detection == found


def test_the_text_of_an_error_names_its_detector():
    found = ask(RepeatDetector(2, name="my_repeat"), LS, LS)
    assert str(found.as_error()) == f"{found.message} (detector: my_repeat)"
    assert str(LoopDetectedError("stuck")) == "stuck"


def test_a_verdict_gives_its_loop_as_an_error():
    found = ask(RepeatDetector(2), LS, LS)
    assert LoopVerdict(LoopAction.RAISE, found).as_error().detection is found


def test_a_verdict_to_go_on_has_no_error():
    with pytest.raises(ValueError, match="no loop was found"):
        LoopVerdict().as_error()


@pytest.mark.parametrize("action", LoopAction)
def test_a_verdict_that_ends_the_run_raises_when_asked(action):
    found = ask(RepeatDetector(2), LS, LS)
    verdict = LoopVerdict(action, found)
    if action.ends_run:
        with pytest.raises(LoopDetectedError) as raised:
            verdict.raise_if_looping()
        assert raised.value.detection is found
    else:
        verdict.raise_if_looping()
