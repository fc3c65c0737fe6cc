"""Reasoning that an API wants back: it is sent unchanged, to who sent it, and to no one else."""

import copy
import json
import pickle
import re

import pytest
from strict_server import (
    WAYS,
    Refused,
    anthropic_events,
    anthropic_whole,
    openai_events,
    openai_whole,
    responses_call,
    responses_events,
    responses_reasoning,
    responses_replies,
    responses_text,
    responses_whole,
    runs_over,
)

from antiloop import AgentTrace, Message, RunStatus, StepType
from antiloop.agent.providers._anthropic import AnthropicProvider, anthropic_messages
from antiloop.agent.providers._openai import OpenAIProvider
from antiloop.agent.providers._openai_chat import openai_messages
from antiloop.agent.providers._openai_responses import responses_input
from antiloop.traces import read_runs
from antiloop.types import Role, ToolCall

pytest.importorskip("openai")
pytest.importorskip("anthropic")

SECRET = "c2lnbmVk"


def look(at: str) -> str:
    """Look at a place."""
    return f"Nothing at {at}."


def call(name, number, **more):
    function = {"name": "look", "arguments": json.dumps({"at": name})}
    return {"id": f"c{number}", "type": "function", "function": function, **more}


THINKING = [
    {"type": "thinking", "thinking": "Two places are left.", "signature": SECRET},
    {"type": "text", "text": "I look at both."},
    {"type": "redacted_thinking", "data": SECRET},
    {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": "a"}},
    {"type": "thinking", "thinking": "And then b.", "signature": SECRET + "2"},
    {"type": "tool_use", "id": "c2", "name": "look", "input": {"at": "b"}},
]


def numbered(reply, number):
    """Return a reply whose calls have ids of their own, as those of a real API have."""
    return json.loads(re.sub(r'"c(\d)"', rf'"c\1-{number}"', json.dumps(reply)))


def anthropic_script(request):
    turns = request["messages"]
    replies = [turn["content"] for turn in turns if turn["role"] == "assistant"]
    for number, content in enumerate(replies):
        if content != numbered(THINKING, number):
            raise Refused("thinking blocks cannot be modified or left out")
    if len(replies) == 2:
        return anthropic_whole([{"type": "text", "text": "Nothing."}])
    return anthropic_whole(numbered(THINKING, len(replies)), "tool_use")


SIGNED = {"google": {"thought_signature": SECRET}}
DETAILS = [
    {"type": "reasoning.text", "text": f"Two places. {SECRET}", "signature": "s1", "index": 0},
    {"type": "reasoning.encrypted", "data": SECRET, "index": 1},
    {"type": "reasoning.encrypted", "data": SECRET + "2", "index": 2},
]
FIRST_REPLIES = {
    "gemini": {"content": None, "tool_calls": [call("a", 1, extra_content=SIGNED), call("b", 2)]},
    "deepseek": {
        "content": "I look.",
        "reasoning_content": f"Two places are left. {SECRET}",
        "tool_calls": [call("a", 1), call("b", 2)],
    },
    "vllm": {
        "content": None,
        "reasoning": f"Two places are left. {SECRET}",
        "tool_calls": [call("a", 1), call("b", 2)],
    },
    "openrouter": {
        "content": None,
        "reasoning_details": DETAILS,
        "tool_calls": [call("a", 1), call("b", 2)],
    },
}
LAST_REPLY = {"content": "Nothing.", "reasoning_content": "That was all."}


def openai_script(vendor):
    first = FIRST_REPLIES[vendor]

    def script(request):
        replies = [each for each in request["messages"] if each["role"] == "assistant"]
        for number, reply in enumerate(replies):
            if reply != {"role": "assistant", **numbered(first, number)}:
                raise Refused("the function call lacks what it was signed with")
        if len(replies) == 2:
            return openai_whole(LAST_REPLY)
        return openai_whole(numbered(first, len(replies)), "tool_calls")

    return script


def responses_reply(number):
    """Return a reply that thinks before each of its calls, and says something between them."""
    thoughts = [responses_reasoning(f"{SECRET} {at}", f"{number}{at}") for at in (1, 2)]
    thoughts = [{**each, "encrypted_content": f"{SECRET} {each['id']}"} for each in thoughts]
    one, two = (
        responses_call("look", json.dumps({"at": name}), f"{number}{name}") for name in "ab"
    )
    said = responses_text("I look at both.", number, phase="commentary")
    return [thoughts[0], said, one, thoughts[1], two]


def responses_script(request):
    replies = responses_replies(request)
    for number, reply in enumerate(replies):
        if reply != responses_reply(number):
            raise Refused("Item 'fc' was provided without its required 'reasoning' item: 'rs'.")
    if len(replies) == 2:
        return responses_whole([responses_reasoning("", 9), responses_text("Nothing.", 9)])
    return responses_whole(responses_reply(len(replies)))


VENDORS = ["anthropic", "responses", *FIRST_REPLIES]


def result_of(vendor, way, prompt="Where is it?"):
    make, script, events, options = OpenAIProvider, None, openai_events, {}
    if vendor == "anthropic":
        make, script, events = AnthropicProvider, anthropic_script, anthropic_events
    elif vendor == "responses":
        script, events, options = responses_script, responses_events, {"api": "responses"}
    script = script or openai_script(vendor)
    (result,), _ = runs_over(make, way, script, events, prompt, tools=[look], options=options)
    return result


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("vendor", VENDORS)
def test_what_a_model_thought_goes_back_to_it_unchanged(vendor, way):
    result = result_of(vendor, way)
    assert (result.status, result.text) == (RunStatus.COMPLETED, "Nothing.")
    assert [each.arguments for each in result.tool_calls] == [{"at": "a"}, {"at": "b"}] * 2


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_conversation_goes_on_after_it_was_stored(vendor):
    result = result_of(vendor, "run")
    told = json.dumps([message.to_dict() for message in result.messages[:-1]])
    for messages in (
        [Message.from_dict(each) for each in json.loads(told)],
        pickle.loads(pickle.dumps(result.messages[:-1])),
        copy.deepcopy(result.messages[:-1]),
    ):
        assert tuple(messages) == result.messages[:-1]
        assert result_of(vendor, "arun", messages).text == "Nothing."


@pytest.mark.parametrize("vendor", VENDORS)
def test_what_a_model_thought_is_kept_in_the_trace_and_shown_nowhere(vendor, tmp_path):
    result = result_of(vendor, "stream")
    trace = AgentTrace.from_dict(json.loads(json.dumps(result.trace.to_dict())))
    kept = trace.of_type(StepType.MODEL_CALL, StepType.TOOL_CALL)
    assert SECRET in str([step.data.get("provider_data") for step in kept])
    assert SECRET not in repr((result, result.messages, result.tool_calls))
    assert SECRET not in result._repr_html_()
    path = tmp_path / "runs.jsonl"
    path.write_text(result.trace.to_jsonl())
    (run,) = read_runs(str(path))
    assert SECRET.encode() not in pickle.dumps(run)
    bare = [
        Message(m.role, m.content, tuple(map(without_data, m.tool_calls)), m.tool_call_id)
        for m in result.messages
    ]
    assert list(result.messages) == bare


def without_data(call):
    return ToolCall(call.tool_name, call.arguments, call.id, call.round)


@pytest.mark.parametrize("vendor", VENDORS)
def test_another_provider_does_not_get_it(vendor):
    messages = result_of(vendor, "run").messages
    sent = [openai_messages(messages, source) for source in ("openai", "openai@example.org")]
    sent.append(responses_input(messages, "openai-responses@example.org"))
    if vendor != "anthropic":
        sent.append(anthropic_messages(messages)[1])
    assert SECRET not in json.dumps(sent)
    assert "reasoning" not in json.dumps(sent)


def test_thinking_stays_with_a_message_whose_text_was_changed():
    reply = result_of("anthropic", "run").messages[1]
    changed = Message(
        Role.ASSISTANT, "Shorter.", reply.tool_calls[:1], provider_data=reply.provider_data
    )
    kinds = [block["type"] for block in anthropic_messages([changed])[1][0]["content"]]
    assert kinds == ["thinking", "redacted_thinking", "thinking", "text", "tool_use"]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("kind", [["thinking"], ["thinking", "redacted_thinking"]])
def test_a_reply_that_only_thought_is_not_sent_back(kind, streamed):
    """The API refuses a turn that ends with a thought."""
    blocks = {
        "thinking": {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        "redacted_thinking": {"type": "redacted_thinking", "data": "d"},
    }
    whole = anthropic_whole([blocks[each] for each in kind], "end_turn")
    provider = AnthropicProvider("m", client=object())
    if streamed:
        collector = provider._collector(None)
        for event in anthropic_events(whole):
            collector.add(event)
        reply = collector.reply()
    else:
        reply = provider._reply(whole, None)
    assert reply.provider_data is not None
    said = [
        Message(Role.USER, "Go"),
        Message(Role.ASSISTANT, reply.text, provider_data=reply.provider_data),
        Message(Role.USER, "Answer me."),
    ]
    (turn,) = anthropic_messages(said)[1]
    assert [block["text"] for block in turn["content"]] == ["Go", "Answer me."]


def test_a_tool_of_the_server_that_was_cut_off_goes_back_with_an_object():
    collector = AnthropicProvider("m", client=object())._collector(None)
    block = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    whole = anthropic_whole([block], "max_tokens")
    for event in anthropic_events(whole):
        if event["type"] == "content_block_delta":
            event["delta"]["partial_json"] = '{"query": "re'
        collector.add(event)
    reply = collector.reply()
    said = Message(Role.ASSISTANT, reply.text, provider_data=reply.provider_data)
    ((sent,),) = [turn["content"] for turn in anthropic_messages([said])[1]]
    assert sent == {**block, "input": {"raw_arguments": '{"query": "re'}}
