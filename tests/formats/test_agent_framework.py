"""Messages of Microsoft Agent Framework, as they are and as they are dumped."""

import json
from types import SimpleNamespace

import pytest

from antiloop.formats import from_agent_framework
from antiloop.loop_detection._messages import NOTICE_MARKER
from antiloop.types import Role, ToolCall, ToolResult


def message(role, *contents):
    return {"type": "message", "role": role, "contents": list(contents)}


def text(words):
    return {"type": "text", "text": words}


def call(call_id, arguments):
    named = {"call_id": call_id, "name": "ls", "arguments": arguments}
    return {"type": "function_call", **named}


def result(call_id, given, **more):
    return {"type": "function_result", "call_id": call_id, "result": given, **more}


def only_result(content):
    history = from_agent_framework([message("assistant", call("1", {})), message("tool", content)])
    return history.results[0]


CONVERSATION = [
    message("user", text("look")),
    message("assistant", text("I look."), call("1", '{"n": 1}'), call("2", {"n": 2})),
    message("tool", result("2", "b"), result("1", "a", exception="ValueError: a")),
    message("assistant", call("3", None)),
]


def test_calls_of_one_message_are_one_round():
    history = from_agent_framework(CONVERSATION)
    assert history.calls == (
        ToolCall("ls", {"n": 1}, "1", 1),
        ToolCall("ls", {"n": 2}, "2", 1),
        ToolCall("ls", None, "3", 3),
    )
    assert history.results == (ToolResult("a", is_error=True), ToolResult("b"), None)
    assert history.turn_starts == (0,)
    assert [(each.role, each.text) for each in history.messages] == [
        (Role.USER, "look"),
        (Role.ASSISTANT, "I look."),
    ]


def test_live_messages_are_read_like_dumps():
    live = json.loads(json.dumps(CONVERSATION), object_hook=lambda body: SimpleNamespace(**body))
    live[1].contents[1].arguments = {"n": 1}
    live[1].contents[2].arguments = {"n": 2}
    assert from_agent_framework(live) == from_agent_framework(CONVERSATION)


def test_what_a_result_shows_besides_its_text_tells_results_apart():
    items = [text("the screen"), {"type": "data", "uri": "data:image/png;base64,AAA"}]
    shown = only_result(result("1", "the screen", items=items))
    assert shown == ToolResult("the screen\ndata:image/png;base64,AAA")


def test_an_approval_is_no_turn_of_the_user():
    approval = {"type": "function_approval_response", "approved": True}
    assert from_agent_framework([message("user", approval)]).turn_starts == ()
    with_words = message("user", approval, text("but hurry"))
    assert from_agent_framework([with_words]).turn_starts == (0,)


def test_a_picture_is_a_turn_of_the_user():
    picture = {"type": "uri", "uri": "https://example.org/cat.png", "text": None}
    assert from_agent_framework([message("user", picture)]).turn_starts == (0,)


def test_a_notice_of_ours_is_no_user_message():
    notice = message("user", text(f"{NOTICE_MARKER} you repeat yourself"))
    assert from_agent_framework([notice]).turn_starts == ()


@pytest.mark.parametrize(
    "given",
    [None, 7, "text", [], {}, {"contents": 7}, {"contents": [None, 7, {}]}, {"role": "user"}],
)
def test_what_holds_no_call_gives_none(given):
    history = from_agent_framework([given])
    assert (history.calls, history.turn_starts) == ((), ())
