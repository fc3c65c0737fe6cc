"""OpenAI chat messages, as the API documents them and as they are found in the wild."""

import json
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop.formats import from_openai_chat
from antiloop.loop_detection._messages import NOTICE_MARKER
from antiloop.types import ToolCall, ToolResult


def asks(*calls):
    """Make an assistant message from ``(id, name, arguments)``."""
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}
            for id_, name, arguments in calls
        ],
    }


def answers(id_, content):
    return {"role": "tool", "tool_call_id": id_, "content": content}


def test_calls_of_one_assistant_message_are_one_round():
    history = from_openai_chat(
        [
            {"role": "user", "content": "find cats"},
            asks(("1", "search", '{"q": "cats"}'), ("2", "search", '{"q": "dogs"}')),
            answers("2", "woof"),
            answers("1", "meow"),
            asks(("3", "done", "{}")),
        ]
    )
    assert history.calls == (
        ToolCall("search", {"q": "cats"}, "1", 1),
        ToolCall("search", {"q": "dogs"}, "2", 1),
        ToolCall("done", {}, "3", 4),
    )
    assert history.results == (ToolResult("meow"), ToolResult("woof"), None)
    assert history.turn_starts == (0,)


def test_unparsable_arguments_stay_the_text_that_they_are():
    history = from_openai_chat([asks(("1", "search", '{"q": "ca'))])
    assert history.calls[0].arguments == '{"q": "ca'


def test_the_older_function_call_is_read_too():
    history = from_openai_chat(
        [
            {"role": "assistant", "function_call": {"name": "ls", "arguments": '{"p": "."}'}},
            {"role": "function", "name": "ls", "content": "a.py"},
        ]
    )
    assert history.calls == (ToolCall("ls", {"p": "."}, None, 0),)
    assert history.results == (ToolResult("a.py"),)


def test_a_custom_tool_has_text_as_input():
    call = {"id": "1", "type": "custom", "custom": {"name": "shell", "input": "ls -l"}}
    history = from_openai_chat([{"role": "assistant", "tool_calls": [call]}])
    assert history.calls == (ToolCall("shell", "ls -l", "1", 0),)


def test_flat_calls_of_some_exports_are_read_too():
    call = {"id": "1", "name": "ls", "arguments": {"p": "."}}
    history = from_openai_chat([{"role": "assistant", "tool_calls": [call]}])
    assert history.calls == (ToolCall("ls", {"p": "."}, "1", 0),)


def test_without_ids_the_tool_that_a_result_names_decides():
    call = {"function": {"name": "ls", "arguments": {}}}
    asked = {"role": "assistant", "tool_calls": [call, {"function": {"name": "cd"}}]}
    told = from_openai_chat([asked, {"role": "tool", "tool_name": "cd", "content": "there"}])
    assert told.results == (None, ToolResult("there"))


def test_objects_with_attributes_are_read_like_json():
    messages = [asks(("1", "ls", "{}")), answers("1", [{"type": "text", "text": "a.py"}])]
    as_objects = json.loads(json.dumps(messages), object_hook=lambda d: SimpleNamespace(**d))
    assert from_openai_chat(as_objects) == from_openai_chat(messages)


def test_an_answer_without_content_is_empty_and_not_unknown():
    history = from_openai_chat([asks(("1", "ls", "{}")), answers("1", None)])
    assert history.results == (ToolResult(""),)


def test_a_recorder_may_say_that_a_call_failed():
    history = from_openai_chat([asks(("1", "ls", "{}")), {**answers("1", "no"), "is_error": True}])
    assert history.results == (ToolResult("no", is_error=True),)


def test_a_notice_of_ours_is_no_user_message():
    notice = {"role": "user", "content": f"{NOTICE_MARKER} you repeat yourself"}
    assert from_openai_chat([notice, {"role": "user", "content": "go on"}]).turn_starts == (0,)
    assert from_openai_chat([notice]).turn_starts == ()


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [None, 7, "text", [], {}],
        [{"role": "assistant"}, {"role": "assistant", "tool_calls": None}],
        [{"role": "assistant", "tool_calls": "none"}],
        [{"role": 7}, {"role": "tool"}],
    ],
)
def test_what_holds_no_call_gives_none(messages):
    assert from_openai_chat(messages).calls == ()


def test_a_call_that_is_not_even_an_object_is_a_call_without_name():
    history = from_openai_chat([{"role": "assistant", "tool_calls": [None, {"function": 7}]}])
    assert [call.tool_name for call in history.calls] == ["", ""]


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text('aé\x1b"{', max_size=3)
json_values = (
    scalars
    | st.lists(scalars, max_size=2)
    | st.dictionaries(st.sampled_from(["name", "arguments", "type", "text"]), scalars)
)
any_message = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "function", "developer"])},
    optional={
        "content": json_values,
        "tool_calls": st.lists(
            st.fixed_dictionaries(
                {},
                optional={"id": json_values, "function": json_values, "name": json_values},
            ),
            max_size=3,
        ),
        "function_call": json_values,
        "tool_call_id": json_values,
        "name": json_values,
    },
)


@given(st.lists(any_message, max_size=8))
def test_any_json_is_survived_and_calls_and_results_stay_in_step(messages):
    history = from_openai_chat(messages)
    assert len(history.calls) == len(history.results)
    assert all(isinstance(call.tool_name, str) for call in history.calls)
    assert sum(end - start for start, end in _rounds(history)) == len(history)


def _rounds(history):
    position = 0
    for part in history.rounds():
        yield position, position + len(part)
        position += len(part)
