"""Anthropic messages, as the API documents them and as they are found in the wild."""

import json
from types import SimpleNamespace

import pytest

from antiloop.formats import from_anthropic
from antiloop.loop_detection._messages import NOTICE_MARKER
from antiloop.types import ToolCall, ToolResult


def asks(*calls):
    """Make an assistant message from ``(id, name, input)``."""
    blocks = [
        {"type": "tool_use", "id": id_, "name": name, "input": put} for id_, name, put in calls
    ]
    return {"role": "assistant", "content": [{"type": "text", "text": "I look."}, *blocks]}


def answers(*results):
    """Make a user message from ``(id, content)`` or ``(id, content, is_error)``."""
    blocks = []
    for id_, content, *failed in results:
        blocks.append({"type": "tool_result", "tool_use_id": id_, "content": content})
        blocks[-1].update({"is_error": True} if failed else {})
    return {"role": "user", "content": blocks}


def text(said):
    return {"type": "text", "text": said}


def only_result(content, *failed):
    return from_anthropic([asks(("1", "ls", {})), answers(("1", content, *failed))]).results[0]


def test_calls_of_one_assistant_message_are_one_round():
    history = from_anthropic(
        [
            {"role": "user", "content": "find cats"},
            asks(("1", "search", {"q": "cats"}), ("2", "search", {"q": "dogs"})),
            answers(("2", "woof"), ("1", "meow")),
            asks(("3", "done", {})),
        ]
    )
    assert history.calls == (
        ToolCall("search", {"q": "cats"}, "1", 1),
        ToolCall("search", {"q": "dogs"}, "2", 1),
        ToolCall("done", {}, "3", 3),
    )
    assert history.results == (ToolResult("meow"), ToolResult("woof"), None)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("a", "a"),
        (None, ""),
        ([], ""),
        ([text("a"), text("b")], "a\nb"),
        ([text("a"), {"type": "image", "source": 1}], 'a\n{"source":1,"type":"image"}'),
        ({"b": 1, "a": 2}, '{"a":2,"b":1}'),
    ],
)
def test_a_result_becomes_text(content, told):
    assert only_result(content) == ToolResult(told)


def test_a_failure_is_kept():
    assert only_result("no", True) == ToolResult("no", is_error=True)


def test_tools_that_anthropic_runs_answer_in_the_same_message():
    error = {"type": "web_search_tool_result_error", "error_code": "unavailable"}
    blocks = [
        {"type": "server_tool_use", "id": "1", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "1", "content": error},
        {"type": "mcp_tool_use", "id": "2", "name": "ls", "server_name": "s", "input": {}},
        {"type": "mcp_tool_result", "tool_use_id": "2", "content": [text("a")], "is_error": False},
    ]
    history = from_anthropic([{"role": "assistant", "content": blocks}])
    assert [call.tool_name for call in history.calls] == ["web_search", "ls"]
    assert [result.is_error for result in history.results] == [True, False]


def test_only_words_are_a_turn_of_the_user():
    notice = f"<system-notice>\n{NOTICE_MARKER} you repeat yourself"
    history = from_anthropic(
        [
            {"role": "user", "content": "look"},
            asks(("1", "ls", {})),
            answers(("1", "a")),
            {"role": "user", "content": [*answers(("1", "a"))["content"], text(notice)]},
            {"role": "user", "content": notice},
            {"role": "user", "content": [text(notice), text("go on")]},
            {"role": "user", "content": ""},
        ]
    )
    assert history.turn_starts == (0, 1)


def test_objects_with_attributes_are_read_like_json():
    messages = [asks(("1", "ls", "{}")), answers(("1", [text("a.py")]))]
    as_objects = json.loads(json.dumps(messages), object_hook=lambda d: SimpleNamespace(**d))
    assert from_anthropic(as_objects) == from_anthropic(messages)
    assert from_anthropic(messages).calls == (ToolCall("ls", {}, "1", 0),)


def test_arguments_cut_off_in_a_stream_stay_text():
    assert from_anthropic([asks(("1", "ls", '{"p": '))]).calls[0].arguments == '{"p": '


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [None, 7, "text", [], {}],
        [{"role": "assistant"}, {"role": "assistant", "content": "text"}],
        [{"role": "assistant", "content": [None, 7, "text", [], {"type": 7}]}],
    ],
)
def test_what_holds_no_call_gives_none(messages):
    assert from_anthropic(messages).calls == ()
