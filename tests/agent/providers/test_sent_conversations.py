"""Whatever a model wrote, its conversation can be sent: a server that refuses it ends the run."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import (
    Agent,
    AgentConfig,
    Escalation,
    LoopDetectedError,
    LoopDetector,
    RepeatDetector,
    ScriptedProvider,
)
from antiloop.agent import ModelReply, ModelRequest, ReplyEnd, ToolSchema
from antiloop.agent._context import INTERRUPTED
from antiloop.agent.providers import OpenAIProvider
from antiloop.agent.providers._anthropic import anthropic_messages
from antiloop.agent.providers._openai_chat import mistral_messages, openai_messages
from antiloop.agent.providers._openai_responses import responses_input
from antiloop.loop_detection._messages import NOTICE_MARKER
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


def sent_calls(call, tools=()):
    """Return the calls that each API is sent, with their arguments as values."""
    asked = [Message(Role.ASSISTANT, "", (call,)), Message(Role.TOOL, "x", tool_call_id=call.id)]
    (chat,) = openai_messages(asked, tools=tools)[0]["tool_calls"]
    item, _ = responses_input(asked, tools=tools)
    (block,) = anthropic_messages(asked, tools)[1][0]["content"]
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


@given(st.sampled_from(["multi_tool_use.parallel", "", " ", "naïve", "look\n", "x" * 100, "looks"]))
def test_names_that_a_model_invents_are_sent_as_names(name):
    for sent in sent_calls(ToolCall(name, {}, "c")):
        assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", sent["name"])


def test_the_names_of_tools_are_sent_as_they_are():
    tools = (ToolSchema("files.read", "", {}),)
    for sent in sent_calls(ToolCall("files.read", {}, "c"), tools):
        assert sent["name"] == "files.read"


def test_anthropic_gets_ids_that_it_takes_when_another_model_began():
    calls = tuple(ToolCall("look", {}, f"functions.look:{n}") for n in range(2))
    results = [Message(Role.TOOL, call.id, tool_call_id=call.id) for call in calls]
    asked, answered = anthropic_messages([Message(Role.ASSISTANT, "", calls), *results[::-1]])[1]
    assert all(re.fullmatch("[A-Za-z0-9_-]+", block["id"]) for block in asked["content"])
    ids = {block["content"]: block["tool_use_id"] for block in answered["content"]}
    assert [ids[call.id] for call in calls] == [block["id"] for block in asked["content"]]


def look(at: int = 0) -> str:
    return f"nothing at {at}"


def fail(at: int = 0) -> str:
    raise LookupError(at)


ASKED = st.builds(
    ToolCall,
    st.sampled_from(["look", "look", "fail", "other", "", "a.b"]),
    ARGUMENTS | st.just({"at": 1}),
    st.sampled_from([None, "c", "d", "functions.look:0"]),
)
REPLIES = st.builds(
    lambda calls, end: ModelReply("", tuple(calls), end=end),
    st.lists(ASKED, min_size=1, max_size=4),
    st.sampled_from([ReplyEnd.COMPLETE, *ReplyEnd]),
)
LADDERS = [("notify", "block", "stop"), ("block", "raise"), ("notify", "conclude"), ("raise",)]


@given(
    st.lists(REPLIES, min_size=1, max_size=6),
    st.sampled_from(LADDERS),
    st.sampled_from(["system", "user"]),
    st.booleans(),
)
def test_each_call_of_a_run_is_sent_with_exactly_one_result(replies, ladder, role, parallel):
    detector = LoopDetector([RepeatDetector(2)], Escalation(ladder), notice_role=role)
    config = AgentConfig(9, detector, parallel_tool_execution=parallel)
    agent = Agent([look, fail], ScriptedProvider(replies, repeat_last=True), config)
    check_results(run_to_end(agent))


def run_to_end(agent):
    """Return the conversation of a run, however it ends."""
    try:
        return agent.run("Go").messages
    except LoopDetectedError as error:
        return error.partial_result.messages


def check_results(messages):
    """Check that each call is sent with exactly one result, before what follows."""
    open_calls = []
    for message in openai_messages(messages):
        if message["role"] == "tool":
            open_calls.remove(message["tool_call_id"])
            continue
        assert not open_calls
        open_calls = [call["id"] for call in message.get("tool_calls", ())]
        assert len(set(open_calls)) == len(open_calls)
    assert not open_calls
    for turn in anthropic_messages(messages)[1]:
        results = [each["tool_use_id"] for each in turn["content"] if "tool_use_id" in each]
        assert sorted(results) == sorted(open_calls)
        open_calls = [each["id"] for each in turn["content"] if each["type"] == "tool_use"]
    assert not open_calls
    items = responses_input(messages)
    asked, answered = (
        [item["call_id"] for item in items if item.get("type") == kind]
        for kind in ("function_call", "function_call_output")
    )
    assert asked == answered
    assert len(set(asked)) == len(asked)
    check_order_of_mistral(mistral_messages(messages))


def check_order_of_mistral(messages):
    """Check what Mistral's own validator checks."""
    after = {
        "system": {"system", "user", "assistant"},
        "user": {"system", "user", "assistant"},
        "assistant": {"user", "assistant", "tool"},
        "tool": {"assistant", "tool"},
    }
    roles = [each["role"] for each in messages]
    assert all(role in after[before] for before, role in zip(roles, roles[1:]))
    asked = [call["id"] for each in messages for call in each.get("tool_calls", ())]
    answered = [each["tool_call_id"] for each in messages if each["role"] == "tool"]
    assert asked == answered
    assert all(re.fullmatch("[A-Za-z0-9]{9}", each) for each in asked)


class Remembering(ScriptedProvider):
    """Remembers what it was sent first."""

    sent = None

    def complete(self, request):
        self.sent = self.sent or request.messages
        return super().complete(request)


@given(
    st.lists(REPLIES, min_size=1, max_size=4), st.integers(1, 20), st.sampled_from([None, "Go on."])
)
def test_a_conversation_that_is_cut_anywhere_goes_on_with_a_result_for_each_call(
    replies, length, said
):
    agent = Agent([look, fail], ScriptedProvider(replies, repeat_last=True), AgentConfig(4, None))
    whole = run_to_end(agent)
    kept = [*whole[:length], *([Message(Role.USER, said)] if said else [])]
    provider = Remembering(["Done."], repeat_last=True)
    result = Agent([look, fail], provider).run(kept)
    check_results(provider.sent)
    assert list(result.messages) == [*kept, result.final_message]
    added = [each for each in provider.sent if each.content == INTERRUPTED]
    assert [each for each in provider.sent if each not in added] == kept
    assert all(each.is_error for each in added)


@pytest.mark.parametrize(("model", "role"), [("gpt-5", "system"), ("Devstral-small", "user")])
def test_a_notice_to_a_model_of_mistral_comes_in_an_order_that_its_api_takes(model, role):
    detector = LoopDetector([RepeatDetector(2)], Escalation(("notify",)))
    replies = [ModelReply("", (ToolCall("look", {}, f"c{number}"),)) for number in range(2)]
    provider = ScriptedProvider([*replies, "Done."])
    asked = Agent([look], provider, AgentConfig(9, detector)).run("Go").messages[:-1]
    request = ModelRequest(asked, ())
    sent = OpenAIProvider(model, client=object())._arguments(request, False, None)["messages"]
    *_, before, notice = sent
    assert NOTICE_MARKER in notice["content"]
    assert (before["role"], notice["role"]) == ("assistant" if role == "user" else "tool", role)
