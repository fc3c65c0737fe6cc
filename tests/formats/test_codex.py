"""Codex CLI rollouts, as several versions write them."""

import json

import pytest

from antiloop.formats import from_codex_rollout
from antiloop.types import Role, ToolCall, ToolResult


def item(**payload):
    return {"timestamp": "2026-11-02T10:00:00Z", "type": "response_item", "payload": payload}


def asks(call_id):
    arguments = json.dumps({"command": ["ls"]})
    return item(type="function_call", name="shell", arguments=arguments, call_id=call_id)


def answers(call_id, output):
    return item(type="function_call_output", call_id=call_id, output=output)


def says(text):
    return item(type="message", role="user", content=[{"type": "input_text", "text": text}])


def only_result(output):
    return from_codex_rollout([asks("1"), answers("1", output)]).results[0]


def test_calls_are_read_with_their_results_and_rounds():
    history = from_codex_rollout(
        [says("look"), asks("1"), asks("2"), answers("1", "a"), answers("2", "b"), asks("3")]
    )
    assert history.calls[0] == ToolCall("shell", {"command": ["ls"]}, "1", 1)
    assert history.results == (ToolResult("a"), ToolResult("b"), None)
    assert [len(part) for part in history.rounds()] == [2, 1]


def test_lines_of_older_files_are_the_items():
    lines = [{"record_type": "state"}, asks("1")["payload"], answers("1", "a")["payload"]]
    assert from_codex_rollout(lines).results == (ToolResult("a"),)


def test_what_codex_says_in_the_place_of_the_user_is_no_turn():
    told = ["<environment_context>\n</environment_context>", "# AGENTS.md instructions for /a"]
    assert from_codex_rollout(map(says, told)).turn_starts == ()
    own = ["go on", "<3", "<div> stays open"]
    history = from_codex_rollout(map(says, [*told, *own]))
    assert history.turn_starts == (0, 0, 0)
    assert [each.text for each in history.messages if each.role is Role.USER] == own


@pytest.mark.parametrize(
    ("output", "result"),
    [
        ("plain", ToolResult("plain")),
        ('{"output": "a", "metadata": {"exit_code": 0, "duration_seconds": 1.5}}', ToolResult("a")),
        (
            '{"output": "a", "metadata": {"exit_code": 2, "duration_seconds": 1.5}}',
            ToolResult("a\n[exit code 2]", True),
        ),
        (
            "Exit code: 0\nWall time: 0.1 seconds\nOutput:\na\nOutput:\nb",
            ToolResult("a\nOutput:\nb"),
        ),
        (
            "Exit code: 1\nWall time: 0.1 seconds\nTotal output lines: 9\nOutput:\n",
            ToolResult("\n[exit code 1]", True),
        ),
        (
            "Chunk ID: ff886d\nWall time: 0.2 seconds\nProcess exited with code 127\n"
            "Original token count: 1\nOutput:\nno such file",
            ToolResult("no such file\n[exit code 127]", True),
        ),
        (
            "Chunk ID: 1\nWall time: 9 seconds\nProcess running with session ID 4\nOutput:\nhalf",
            ToolResult("half\nThe process is still running."),
        ),
        ("Wall time: 0.1 seconds\nOutput:\nof a server", ToolResult("of a server")),
        ("Title\nOutput:\nof a program", ToolResult("Title\nOutput:\nof a program")),
        ({"content": "no", "success": False}, ToolResult("no", True)),
        ({"content": "yes", "success": True}, ToolResult("yes")),
        ('{"answer": 42}', ToolResult('{"answer": 42}')),
        ('{"content": "a", "page": 1}', ToolResult('{"content": "a", "page": 1}')),
        (
            '{"output": "a", "metadata": {"exit_code": 1}, "page": 1}',
            ToolResult('{"output": "a", "metadata": {"exit_code": 1}, "page": 1}'),
        ),
        ([{"type": "input_text", "text": "a"}], ToolResult("a")),
        (None, ToolResult("")),
    ],
)
def test_what_codex_writes_around_an_output_is_taken_off(output, result):
    assert only_result(output) == result


@pytest.mark.parametrize(
    "line",
    [
        *(None, 7, "text", [], {}, {"type": "response_item"}),
        {"type": "event_msg", "payload": {"type": "function_call", "name": "ls"}},
        {"type": "response_item", "payload": 7},
    ],
)
def test_other_lines_are_passed_over(line):
    assert from_codex_rollout([line]).calls == ()
