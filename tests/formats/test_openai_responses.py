"""OpenAI Responses items, as the API documents them."""

import json
from types import SimpleNamespace

import pytest

from antiloop.formats import from_openai_responses
from antiloop.loop_detection._messages import NOTICE_MARKER
from antiloop.types import ToolCall, ToolResult


def asks(call_id, name="search", arguments='{"q": "cats"}'):
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


def answers(call_id, output):
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def says(text):
    return {"role": "user", "content": text}


def rounds(items):
    return [len(part) for part in from_openai_responses(items).rounds()]


def test_words_between_calls_and_their_results_were_said_with_the_calls():
    said = {"type": "message", "role": "assistant", "content": [{"text": "Let me look."}]}
    items = [asks("0"), answers("0", "a"), asks("1"), said, asks("2"), answers("1", "a"), said]
    history = from_openai_responses(items)
    assert [each.position for each in history.messages] == [1, 3]


def test_calls_without_a_result_between_them_are_one_round():
    history = from_openai_responses(
        [
            says("find cats"),
            {"type": "reasoning", "summary": []},
            asks("1"),
            {"type": "reasoning", "summary": []},
            asks("2", "ls", "{}"),
            answers("2", "b"),
            answers("1", "a"),
            asks("3"),
        ]
    )
    assert history.calls[:2] == (
        ToolCall("search", {"q": "cats"}, "1", 2),
        ToolCall("ls", {}, "2", 2),
    )
    assert history.results == (ToolResult("a"), ToolResult("b"), None)
    assert [len(part) for part in history.rounds()] == [2, 1]
    assert history.turn_starts == (0,)


def test_a_round_ends_where_the_user_speaks():
    assert rounds([asks("1"), says("no, dogs"), asks("2")]) == [1, 1]
    notice = from_openai_responses([says(f"{NOTICE_MARKER} you repeat yourself")])
    assert notice.turn_starts == ()


def test_a_response_is_a_round():
    def response(*items):
        return {"object": "response", "id": "r", "output": list(items)}

    assert rounds([response(asks("1"), asks("2")), response(asks("3")), asks("4")]) == [2, 1, 1]


@pytest.mark.parametrize(
    ("item", "call"),
    [
        ({"type": "custom_tool_call", "name": "sql", "input": "select 1"}, ("sql", "select 1")),
        ({"type": "local_shell_call", "action": {"command": ["ls"]}}, ("local_shell", ["ls"])),
        ({"type": "code_interpreter_call", "code": "1 + 1"}, ("code_interpreter", "1 + 1")),
        ({"type": "file_search_call", "queries": ["a"]}, ("file_search", '["a"]')),
        ({"type": "function_call", "name": "ls", "arguments": '{"p": '}, ("ls", '{"p": ')),
        ({"type": "image_generation_call"}, ("image_generation", None)),
    ],
)
def test_every_kind_of_call_is_read(item, call):
    (found,) = from_openai_responses([item]).calls
    if isinstance(found.arguments, dict):
        assert (found.tool_name, found.arguments["command"]) == call
    else:
        assert (found.tool_name, found.arguments) == call


def test_tools_that_openai_runs_hold_their_results():
    called = {"type": "mcp_call", "id": "1", "name": "ls", "arguments": "{}"}
    history = from_openai_responses(
        [
            {**called, "output": "a.py", "error": None},
            {**called, "output": None, "error": "no server"},
            {**called, "output": "half", "status": "failed"},
            {"type": "web_search_call", "id": "2", "action": {"query": "x"}},
        ]
    )
    assert history.results == (
        ToolResult("a.py"),
        ToolResult("no server", is_error=True),
        ToolResult("half", is_error=True),
        None,
    )
    assert [len(part) for part in history.rounds()] == [4]


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("a", "a"),
        (None, ""),
        ([{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}], "a\nb"),
        ([{"stdout": "a", "stderr": ""}], '[{"stderr":"","stdout":"a"}]'),
    ],
)
def test_a_result_becomes_text(output, text):
    (result,) = from_openai_responses([asks("1"), answers("1", output)]).results
    assert result == ToolResult(text)


def test_objects_with_attributes_are_read_like_json():
    items = [asks("1"), answers("1", "a"), {"object": "response", "output": [asks("2")]}]
    as_objects = json.loads(json.dumps(items), object_hook=lambda d: SimpleNamespace(**d))
    assert from_openai_responses(as_objects) == from_openai_responses(items)


@pytest.mark.parametrize(
    "items",
    [
        [],
        [None, 7, "text", [], {}],
        [{"type": "message", "role": "assistant"}, {"type": 7}],
        [{"object": "response", "output": 7}],
    ],
)
def test_what_holds_no_call_gives_none(items):
    assert from_openai_responses(items).calls == ()
