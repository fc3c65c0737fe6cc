"""Whatever a model wrote, its conversation can be sent: a server that refuses it ends the run."""

import json

from hypothesis import given
from hypothesis import strategies as st

from antiloop.agent.providers._anthropic import anthropic_messages
from antiloop.agent.providers._openai_chat import openai_messages
from antiloop.agent.providers._openai_responses import responses_input
from antiloop.types import Message, Role, ToolCall

INSIDE_ITSELF = {}
INSIDE_ITSELF["self"] = INSIDE_ITSELF
ARGUMENTS = st.sampled_from(
    [
        {"a": 1},
        None,
        "",
        "null",
        '{"a": ',
        "[1]",
        '"a"',
        '{"a": NaN}',
        {"a": float("inf")},
        {"a": "\udcff"},
        {(1, 2): 3},
        INSIDE_ITSELF,
        '{"a": 1}{"a": 2}',
    ]
)


def sent_calls(call):
    """Return the calls that each API is sent, with their arguments as values."""
    asked = [Message(Role.ASSISTANT, "", (call,)), Message(Role.TOOL, "x", tool_call_id=call.id)]
    (chat,) = openai_messages(asked)[0]["tool_calls"]
    item, _ = responses_input(asked)
    (block,) = anthropic_messages(asked)[1][0]["content"]
    return [
        {"name": chat["function"]["name"], "given": strict(chat["function"]["arguments"])},
        {"name": item["name"], "given": strict(item["arguments"])},
        {"name": block["name"], "given": strict(json.dumps(block["input"], allow_nan=False))},
    ]


def strict(text):
    text.encode()
    return json.loads(text, parse_constant=lambda name: 1 / 0)


@given(ARGUMENTS)
def test_arguments_are_sent_as_an_object(arguments):
    for sent in sent_calls(ToolCall("look", arguments, "c")):
        assert isinstance(sent["given"], dict)


def test_what_is_no_object_is_shown_to_the_model_as_it_wrote_it():
    for sent in sent_calls(ToolCall("look", '{"a": ', "c")):
        assert sent["given"] == {"raw_arguments": '{"a": '}
