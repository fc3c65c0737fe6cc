"""A tool that does not exist stays away, whatever it is asked."""

import json

import pytest
from runs import ask, ask_rounds, failed, fresh_answers, step

from antiloop import LoopDetector, ToolCall, ToolResult
from antiloop.loop_detection import Escalation, UnknownToolDetector
from antiloop.loop_detection._evidence.outcome import REFUSED_MARKER

HEX = [failed("hex", "Unknown tool: hex", value=n) for n in range(9)]
LS = step("ls", "a b")


def test_calls_of_a_missing_tool_are_found_whatever_their_arguments():
    found = ask(UnknownToolDetector(3), *HEX[:3])
    assert found.detector_name == "unknown_tool"
    assert found.message == "3 times, a call of 'hex' was turned away before it could run."
    assert found.indices == (0, 1, 2)
    assert (found.details["tool"], found.details["count"]) == ("hex", 3)
    assert json.loads(json.dumps(found.details)) == found.details


@pytest.mark.parametrize("threshold", [2, 3, 5])
def test_once_less_is_not_yet_found(threshold):
    detector = UnknownToolDetector(threshold)
    assert ask(detector, *HEX[: threshold - 1]) is None
    assert ask(detector, *HEX[:threshold]).repetitions == threshold


def test_arguments_that_never_fit_are_turned_away_too():
    run = [failed("book", "missing required argument 'day'", n=n) for n in range(3)]
    assert ask(UnknownToolDetector(3), *run).repetitions == 3


def test_arguments_that_get_better_are_left_alone():
    names = enumerate(("day", "city", "seat"))
    run = [failed("book", f"missing required argument '{name}'", n=n) for n, name in names]
    assert ask(UnknownToolDetector(3), *run) is None
    assert ask(UnknownToolDetector(2), *run, run[0]).indices == (0, 3)


def test_a_missing_tool_is_missing_in_whatever_words():
    words = ("Unknown tool: hex", "No such tool is here", "tool hex not found")
    run = [failed("hex", said, value=n) for n, said in enumerate(words)]
    assert ask(UnknownToolDetector(3), *run).repetitions == 3


@pytest.mark.parametrize(
    "said",
    ["Unknown command 'sync' for 'store'.", "error: unrecognized arguments: --all", "no such tool"],
)
def test_what_a_program_rejects_is_no_rejection_of_the_shell(said):
    run = [failed("bash", said, command=f"store sync --all {n}") for n in range(6)]
    assert ask(UnknownToolDetector(3), *run) is None


def test_a_shell_may_be_missing_as_well():
    run = [failed("shell", "Unknown tool: shell", command=f"ls {n}") for n in range(3)]
    assert ask(UnknownToolDetector(3), *run).is_certain


def test_a_program_that_ran_ends_the_streak():
    missing = [failed("shell", "Unknown tool: shell", command=f"ls {n}") for n in range(2)]
    ran = failed("shell", "Unknown command 'sync' for 'store'.", command="store sync")
    assert ask(UnknownToolDetector(3), *missing, ran, missing[0]) is None


def test_other_failures_are_left_alone():
    assert ask(UnknownToolDetector(2), *(failed("get", "boom", n=n) for n in range(9))) is None


def test_other_calls_in_between_do_not_hide_it():
    assert ask(UnknownToolDetector(3), HEX[0], LS, HEX[1], LS, HEX[2]).indices == (0, 2, 4)


def test_much_that_is_new_in_between_is_no_loop():
    news = [step("read", text, page=n) for n, text in zip(range(9), fresh_answers())]
    assert ask(UnknownToolDetector(3), HEX[0], *news[:4], HEX[1], *news[4:], HEX[2]) is None


def test_a_call_that_went_through_ends_it():
    ran = step("hex", "0xff", value=255)
    assert ask(UnknownToolDetector(3), HEX[0], HEX[1], ran, HEX[2]) is None


def test_a_call_that_we_refused_does_not():
    monitor = LoopDetector([UnknownToolDetector(3)], Escalation(("block",) * 3)).monitor()
    refused = step("hex", f"{REFUSED_MARKER} again", value=4)
    for made, result in (*HEX[:3], refused, HEX[5]):
        verdict = monitor.after([made], [result])
    assert verdict.detection.repetitions == 4


def test_two_missing_tools_are_two_loops():
    run = [each for n in range(2) for each in (HEX[n], failed("oct", "Unknown tool: oct", n=n))]
    assert ask(UnknownToolDetector(3), *run) is None


def test_siblings_count_once():
    assert ask_rounds(UnknownToolDetector(3), HEX[:6]) is None
    assert ask_rounds(UnknownToolDetector(3), HEX[:6], HEX[6:8], HEX[8:]).repetitions == 3


def test_a_threshold_that_could_mean_nothing_is_refused():
    with pytest.raises(ValueError, match="threshold must be a whole number, 2 or more, got 1"):
        UnknownToolDetector(1)


def test_a_tool_whose_arguments_were_invalid_is_never_refused():
    monitor = LoopDetector([UnknownToolDetector(3)], "block").monitor()
    invalid = ToolResult("Error: missing required argument 'value'", True)
    told = [monitor.after([ToolCall("hex", {"n": n})], [invalid]).action.value for n in range(5)]
    assert told == ["continue", "continue", "notify", "stop", "stop"]
    assert monitor.before(ToolCall("hex", {"n": 0})).action.value == "continue"
