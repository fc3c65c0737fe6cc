"""One sentence or page, whatever is asked: something stands in front of the tools."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import features_of

from antiloop import LoopDetector, ToolCall, ToolResult
from antiloop.loop_detection import FailureStreakDetector
from antiloop.loop_detection._evidence.noise import statement
from antiloop.loop_detection._evidence.sameness import show_alike

NAMES = ["ash", "birch", "cedar", "dogwood", "elm", "fir", "ginkgo", "hazel", "ivy", "juniper"]
PAGE = (
    "Clicked {0}\nAt https://a.example/?t={0}{0}\n[{0}] Just a moment, please prove you are human"
)
SENTENCE = "STOPPED: {0} lies outside of what may be looked at, so choose another one."
DETECTOR = FailureStreakDetector(4)


def features(text, tool="look", **arguments):
    return features_of(ToolCall(tool, arguments), None if text is None else ToolResult(text))


def shown(template, tools, count):
    """Return calls of tools in turn, each about another name, and one answer with that name."""
    calls = [ToolCall(tools[n % len(tools)], {"at": name}) for n, name in enumerate(NAMES[:count])]
    return calls, [template.format(name) for name in NAMES[:count]]


@given(st.integers(1, len(NAMES)), st.integers(1, 5))
def test_eight_different_words_say_more_than_a_value(count, times):
    said = " ".join(NAMES[:count] * times)
    assert statement(said, {}) == (said if count >= 8 else "")


def taken(calls, results):
    monitor = LoopDetector.escalating().monitor()
    return [monitor.after([call], [text]).action.value for call, text in zip(calls, results)]


def test_the_same_page_after_six_clicks_on_other_elements_is_found():
    assert DETECTOR.check(*shown(PAGE, ["click"], 5)) is None
    found = DETECTOR.check(*shown(PAGE, ["click"], 6))
    assert found.message == "6 different calls brought the same page or sentence."
    assert found.summary.startswith('click "fir", the last of 6 calls that brought the same: "')
    assert not found.may_end_run


def test_the_same_sentence_counts_where_several_tools_say_it():
    assert DETECTOR.check(*shown(SENTENCE, ["fetch", "probe_host"], 6)) is not None
    assert DETECTOR.check(*shown(SENTENCE, ["invite"], 10)) is None  # one tool acknowledges
    assert DETECTOR.check(*shown(SENTENCE, ["get_host"], 6)) is not None  # unless it only looks


@given(st.sampled_from(["cut", "held back", "Übersprungen", "note: 7"]), st.integers(6, 9))
def test_a_remark_in_brackets_makes_a_sentence_no_data(remark, count):
    calls, results = shown(f"[{remark}] {SENTENCE}", ["get_host"], count)
    assert DETECTOR.check(calls, results) is not None
    rows = [json.dumps([text.split()]) for text in results]
    assert DETECTOR.check(calls, rows) is None


@pytest.mark.parametrize("template", [PAGE, SENTENCE])
def test_who_is_shown_the_same_is_told_and_never_stopped(template):
    actions = taken(*shown(template, ["fetch", "probe_host"], 10))
    assert "notify" in actions
    assert not {"block", "stop"} & set(actions)


@given(st.sampled_from(["browser_type", "fill", "input_text", "send_keys"]), st.integers(8, 10))
def test_a_form_shows_the_same_page_while_its_fields_are_filled(tool, count):
    run = [ToolCall(tool, {"at": name, "text": f"my {name}"}) for name in NAMES[:count]]
    results = [PAGE.format(0)] * count
    assert set(taken(run, results)) == {"continue"}
    refused = [SENTENCE.format(name) for name in NAMES]
    others = [ToolCall(("get_host", tool)[n % 2], {"at": name}) for n, name in enumerate(NAMES)]
    assert "notify" in taken(others, refused)
    assert "notify" in taken([ToolCall("visit", call.arguments) for call in run], results)


@given(st.lists(st.integers(0, 999), min_size=6, max_size=9, unique=True))
def test_pages_with_numbers_of_their_own_are_pages(numbers):
    calls = [ToolCall("get_weather", {"town": name}) for name in NAMES[: len(numbers)]]
    results = [f"Weather in a town:\nwind from the north, {n} km/h\nall is calm" for n in numbers]
    assert DETECTOR.check(calls, results) is None


@pytest.mark.parametrize(("line", "is_look"), [("grep -rn {} .", True), ("make {}", False)])
def test_a_command_line_that_only_looks_is_a_look(line, is_look):
    calls = [ToolCall("shell", {"command": line.format(name)}) for name in NAMES[:6]]
    found = DETECTOR.check(calls, ["a.go:7: one line with more than a few words in it all"] * 6)
    assert (found is not None) is is_look


def test_other_pages_in_between_are_progress():
    calls, results = shown(PAGE, ["click"], 10)
    for n in (3, 6):
        results[n] = f"Welcome to room {n}\nHere is what you were looking for\nTake a seat"
    assert set(taken(calls, results)) == {"continue"}


def test_what_is_left_without_echoes_must_be_a_sentence():
    assert statement("Order 5 is shipped", {"id": 5}) == ""
    assert statement(PAGE.format(3), {"index": 3}) == statement(PAGE.format(7), {"index": 7}) != ""
    host = "The machine at {} answers that it is too busy to talk at {}"
    one, other = host.format("10.0.0.1", "12:00:01"), host.format("10.0.0.2", "12:00:02")
    assert statement(one, {}) == statement(other, {}) != ""


@pytest.mark.parametrize(
    "value",
    [
        features(None),
        features("Error: this is no such page, and there never was one here"),
        features("long " * 2_000),
        features('{"a": "words that are values of some field or another, and no statement"}'),
        features("one two three four five six seven eight nine", tool="shell", command="make"),
        features("one two three four five six seven eight nine", tool="write_file"),
        features("short"),
    ],
)
def test_data_commands_and_acts_make_no_statement(value):
    assert value.statement is None
    assert not show_alike(value, value)


def test_a_resumed_run_is_shown_the_same_as_the_unbroken_one():
    calls, results = shown(PAGE, ["click"], 8)
    detector = LoopDetector.escalating()
    monitor, actions = detector.monitor(), []
    for call, text in zip(calls, results):
        taken_over = detector.monitor()
        taken_over.restore(monitor.snapshot())
        monitor = taken_over
        actions.append(monitor.after([call], [text]).action.value)
    assert actions == taken(calls, results)
    assert "notify" in actions
