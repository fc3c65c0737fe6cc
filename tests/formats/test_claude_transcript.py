"""Claude Code transcripts, as the program writes them in several versions."""

import pytest

from antiloop.formats import from_claude_transcript
from antiloop.loop_detection._messages import NOTICE_MARKER
from antiloop.types import ToolCall, ToolResult


def asks(message_id, call_id, name="Bash", **beside):
    block = {"type": "tool_use", "id": call_id, "name": name, "input": {"n": call_id}}
    message = {"id": message_id, "role": "assistant", "content": [block]}
    return {"type": "assistant", "message": message, **beside}


def answers(call_id, text, **beside):
    block = {"type": "tool_result", "tool_use_id": call_id, "content": text, "is_error": True}
    return {"type": "user", "message": {"role": "user", "content": [block]}, **beside}


def says(text, **beside):
    return {"type": "user", "message": {"role": "user", "content": text}, **beside}


def test_lines_of_one_message_are_one_round_also_with_results_between():
    history = from_claude_transcript(
        [asks("m", "1"), answers("1", "a"), asks("m", "2"), answers("2", "b"), asks("n", "3")]
    )
    assert history.calls[0] == ToolCall("Bash", {"n": "1"}, "1", 0)
    assert [len(part) for part in history.rounds()] == [2, 1]
    assert history.results == (ToolResult("a", True), ToolResult("b", True), None)


def test_messages_without_id_are_rounds_of_their_own():
    history = from_claude_transcript([asks(None, "1"), asks(None, "2")])
    assert [len(part) for part in history.rounds()] == [1, 1]


def test_a_line_that_is_there_twice_counts_once():
    line = asks("m", "1", uuid="u")
    assert len(from_claude_transcript([line, line])) == 1
    assert len(from_claude_transcript([asks("m", "1"), asks("m", "2")])) == 2


def test_ids_of_calls_that_are_used_again_are_no_copies_where_messages_have_no_id():
    lap = asks(None, "call_0"), answers("call_0", "a")
    history = from_claude_transcript([*lap, *lap])
    assert [result.text for result in history.results] == ["a", "a"]
    assert len(from_claude_transcript([{**asks(None, "1"), "uuid": "u"}] * 2)) == 1


def test_only_what_the_user_said_is_a_turn():
    history = from_claude_transcript(
        [
            says("look"),
            asks("m", "1"),
            answers("1", "a"),
            says("caveat", isMeta=True),
            says("summary", isCompactSummary=True),
            says([{"type": "text", "text": "<system-reminder>mind the list"}]),
            says(f"{NOTICE_MARKER} you repeat yourself"),
            asks("n", "2"),
            says("go on"),
        ]
    )
    assert history.turn_starts == (0, 2)


def test_subagents_are_left_out_and_read_on_request():
    lines = [
        asks("a", "1"),
        asks("b", "2", isSidechain=True, agentId="x"),
        asks("c", "3", parent_tool_use_id="1"),
    ]
    assert [call.id for call in from_claude_transcript(lines).calls] == ["1"]
    assert [call.id for call in from_claude_transcript(lines, "x").calls] == ["2"]
    assert [call.id for call in from_claude_transcript(lines, "1").calls] == ["3"]


def test_older_sidechains_are_told_apart_by_their_first_line():
    def line(own, parent):
        return asks(own, own, isSidechain=True, uuid=own, parentUuid=parent)

    lines = [line("p", None), line("q", None), line("p2", "p"), line("q2", "q"), line("p3", "p2")]
    assert [call.id for call in from_claude_transcript(lines, "p").calls] == ["p", "p2", "p3"]
    assert [call.id for call in from_claude_transcript(lines, "q").calls] == ["q", "q2"]
    assert len(from_claude_transcript([asks("m", "1", isSidechain=True)], "sidechain")) == 1


@pytest.mark.parametrize(
    "line",
    [
        None,
        7,
        "text",
        [],
        {},
        {"type": "summary"},
        {"type": "user"},
        {"type": "user", "message": 7},
    ],
)
def test_lines_without_a_message_are_passed_over(line):
    assert from_claude_transcript([line]).calls == ()
    assert from_claude_transcript([line]).turn_starts == ()
