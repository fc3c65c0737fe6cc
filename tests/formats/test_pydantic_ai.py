"""Pydantic AI messages, as a run has them and as they are dumped."""

import json
from datetime import datetime, timezone
from types import SimpleNamespace

import pytest

from antiloop.formats import from_pydantic_ai
from antiloop.loop_detection._messages import NOTICE_MARKER
from antiloop.types import ToolCall, ToolResult


def asks(*calls):
    """Make a response from ``(id, args)``."""
    parts = [
        {"part_kind": "tool-call", "tool_name": "t", "tool_call_id": i, "args": a} for i, a in calls
    ]
    return {"kind": "response", "parts": parts}


def request(kind, content, **beside):
    return {"kind": "request", "parts": [{"part_kind": kind, "content": content, **beside}]}


def answers(call_id, content, **beside):
    return request("tool-return", content, tool_name="t", tool_call_id=call_id, **beside)


def only_result(message):
    return from_pydantic_ai([asks(("1", {})), message]).results[0]


def test_calls_of_one_response_are_one_round():
    history = from_pydantic_ai(
        [
            request("user-prompt", "look"),
            asks(("1", '{"q": 1}'), ("2", {"q": 2})),
            answers("2", "b"),
            answers("1", {"x": 1}),
            asks(("3", None)),
        ]
    )
    assert history.calls == (
        ToolCall("t", {"q": 1}, "1", 1),
        ToolCall("t", {"q": 2}, "2", 1),
        ToolCall("t", None, "3", 4),
    )
    assert history.results == (ToolResult('{"x":1}'), ToolResult("b"), None)
    assert history.turn_starts == (0,)


@pytest.mark.parametrize(
    ("outcome", "is_error"),
    [(None, False), ("success", False), ("failed", True), ("denied", True), ("retried", True)],
)
def test_an_outcome_other_than_success_is_a_failure(outcome, is_error):
    assert only_result(answers("1", "a", outcome=outcome)) == ToolResult("a", is_error)


def test_a_retry_that_a_tool_asks_for_is_a_failure():
    retry = request("retry-prompt", "try again", tool_name="t", tool_call_id="1")
    assert only_result(retry) == ToolResult("try again", is_error=True)


def test_a_retry_of_the_final_answer_is_no_result():
    assert only_result(request("retry-prompt", "no JSON", tool_name=None)) is None


def test_tools_that_the_provider_runs_are_read_too():
    call = {"part_kind": "builtin-tool-call", "tool_name": "web", "args": {}, "tool_call_id": "1"}
    back = {
        "part_kind": "builtin-tool-return",
        "tool_name": "web",
        "content": "a",
        "tool_call_id": "1",
    }
    assert from_pydantic_ai([{"parts": [call, back]}]).results == (ToolResult("a"),)


def test_what_a_tool_gives_beside_its_result_is_part_of_it_and_no_turn_of_the_user():
    back = answers("1", "here")
    back["parts"] += request("user-prompt", ["the screen", {"kind": "binary", "data": "x"}])[
        "parts"
    ]
    history = from_pydantic_ai([asks(("1", {})), back])
    assert history.results[0].text.startswith('here\n["the screen",')
    assert history.turn_starts == ()


def test_a_notice_of_ours_is_no_user_message():
    notice = request("user-prompt", f"{NOTICE_MARKER} you repeat yourself")
    assert from_pydantic_ai([notice]).turn_starts == ()
    assert from_pydantic_ai([request("user-prompt", ["look", {"url": "x"}])]).turn_starts == (0,)


@pytest.mark.parametrize("kind", ["tool-return", "retry-prompt"])
@pytest.mark.parametrize(
    ("asked", "came"),
    [
        ("1970-01-01T00:00:07Z", "1970-01-01T00:00:09.5Z"),
        (datetime(1970, 1, 1, 0, 0, 7), datetime(1970, 1, 1, 0, 0, 9, 500_000, timezone.utc)),
    ],
)
def test_times_of_calls_and_results_are_kept(kind, asked, came):
    answered = request(kind, "a", tool_name="t", tool_call_id="1", timestamp=came)
    history = from_pydantic_ai([{**asks(("1", {})), "timestamp": asked}, answered])
    assert (history.calls[0].started_at, history.results[0].duration_s) == (7.0, 2.5)


def test_live_messages_are_read_like_dumps():
    messages = [asks(("1", '{"q": 1}')), answers("1", "a", outcome="failed")]
    live = json.loads(json.dumps(messages), object_hook=lambda d: SimpleNamespace(**d))
    assert from_pydantic_ai(live) == from_pydantic_ai(messages)


@pytest.mark.parametrize(
    "message",
    [None, 7, "text", [], {}, {"parts": 7}, {"parts": [None, 7, {}]}],
)
def test_what_holds_no_call_gives_none(message):
    assert from_pydantic_ai([message]).calls == ()
