"""Conversations as chat completion messages; no SDK takes part."""

from antiloop.agent.providers._openai_chat import openai_messages, openai_response_format
from antiloop.types import Message, Role, ToolCall


def test_pairs_match_where_the_ids_are_missing():
    calls = (ToolCall("a"), ToolCall("b"))
    results = [Message(Role.TOOL, "1"), Message(Role.TOOL, "2")]
    asked, *answered = openai_messages([Message(Role.ASSISTANT, "", calls), *results])
    assert [call["id"] for call in asked["tool_calls"]] == [m["tool_call_id"] for m in answered]


def test_an_assistant_that_says_nothing_is_left_out():
    conversation = [Message(Role.USER, "hi"), Message(Role.ASSISTANT), Message(Role.USER, "")]
    assert [m["role"] for m in openai_messages(conversation)] == ["user", "user"]


def test_text_beside_calls_is_kept():
    message = Message(Role.ASSISTANT, "I look.", (ToolCall("a", None, "c1"),))
    function = {"name": "a", "arguments": "{}"}
    assert openai_messages([message]) == [
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        }
    ]


def test_a_schema_without_a_title_gets_a_name_that_is_accepted():
    assert openai_response_format({})["json_schema"] == {"name": "answer", "schema": {}}
    assert openai_response_format({"title": "Ü b " * 50})["json_schema"]["name"].isascii()
