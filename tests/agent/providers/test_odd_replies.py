"""Whatever a server puts in the place of a text or a list, a reply holds texts."""

import json

from hypothesis import given
from hypothesis import strategies as st

from antiloop.agent import Thought
from antiloop.agent.providers._anthropic import AnthropicProvider, anthropic_messages
from antiloop.agent.providers._openai import OpenAIProvider
from antiloop.agent.providers._openai_chat import openai_messages
from antiloop.agent.providers._openai_responses import responses_input
from antiloop.exceptions import ProviderError
from antiloop.types import Message, Role

PROVIDERS = {
    "openai": OpenAIProvider("m", client=object()),
    "responses": OpenAIProvider("m", api="responses", client=object()),
    "anthropic": AnthropicProvider("m", client=object()),
}
ITEMS = [
    {"id": "rs", "type": "reasoning", "summary": [], "encrypted_content": "s"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]},
    {"id": "fc", "type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
]
RESPONSE = {"status": "completed", "output": ITEMS, "usage": {"input_tokens": 1}}
CALLS = [{"index": 0, "id": "c", "function": {"name": "look", "arguments": "{}"}}]
WHOLE = {
    "responses": RESPONSE,
    "openai": {
        "choices": [{"index": 0, "message": {"content": "a", "tool_calls": CALLS}}],
        "usage": {"prompt_tokens": 1},
    },
    "anthropic": {
        "content": [
            {"type": "text", "text": "a"},
            {"type": "tool_use", "id": "c", "name": "look", "input": {}},
        ],
        "usage": {"input_tokens": 1},
    },
}
EVENTS = {
    "responses": [
        {"type": "response.output_item.done", "output_index": 0, "item": ITEMS[0]},
        {"type": "response.output_item.added", "output_index": 1, "item": ITEMS[1]},
        {"type": "response.output_text.delta", "output_index": 1, "delta": "a"},
        {"type": "response.output_item.done", "output_index": 1, "item": ITEMS[1]},
        {"type": "response.function_call_arguments.delta", "output_index": 2, "delta": "{}"},
        {"type": "response.output_item.done", "output_index": 2, "item": ITEMS[2]},
        {"type": "response.completed", "response": RESPONSE},
    ],
    "openai": [
        {"choices": [{"index": 0, "delta": {"content": "a", "tool_calls": CALLS}}]},
        {"choices": [{"index": 0, "delta": {"content": [{"text": "b"}], "tool_calls": CALLS}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    ],
    "anthropic": [
        {"type": "message_start", "message": {"usage": {"input_tokens": 1}}},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": WHOLE["anthropic"]["content"][1],
        },
        {"type": "content_block_delta", "index": 0, "delta": {"partial_json": "{}"}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "b"}},
        {"type": "message_stop"},
    ],
}
odd = st.sampled_from([None, True, 5, 0.5, "x", [], ["x"], [[]], {}, {"text": 5}])


@st.composite
def mutated(draw, value):
    """Return the value with something odd in one place, or in several."""
    if draw(st.integers(0, 9)) == 0:
        return draw(odd)
    if isinstance(value, dict):
        return {key: draw(mutated(item)) for key, item in value.items()}
    return [draw(mutated(item)) for item in value] if isinstance(value, list) else value


def assert_holds_texts(reply):
    assert isinstance(reply.text, str)
    said = Message(Role.ASSISTANT, reply.text, reply.tool_calls, provider_data=reply.provider_data)
    json.dumps([openai_messages([said], "openai"), anthropic_messages([said])])
    sent = json.loads(json.dumps(responses_input([said], "openai-responses")))
    assert sum("arguments" in item for item in sent) == len(reply.tool_calls)
    for call in reply.tool_calls:
        assert isinstance(call.tool_name, str)
        assert call.id is None or isinstance(call.id, str)


@given(st.sampled_from(sorted(PROVIDERS)), st.data())
def test_a_whole_reply_holds_texts_or_is_refused(vendor, data):
    answer = data.draw(mutated(WHOLE[vendor]))
    try:
        reply = PROVIDERS[vendor]._reply(answer, None)
    except ProviderError:
        return
    assert_holds_texts(reply)


@given(st.sampled_from(sorted(PROVIDERS)), st.data())
def test_a_streamed_reply_holds_texts_or_is_refused(vendor, data):
    collector = PROVIDERS[vendor]._collector(None)
    events = data.draw(st.tuples(*map(mutated, EVENTS[vendor])))
    brought = [item for event in events for item in collector.add(event)]
    thoughts = [item for item in brought if isinstance(item, Thought)]
    texts = [item for item in brought if not isinstance(item, Thought)]
    assert all(isinstance(text, str) for text in (*texts, *(each.text for each in thoughts)))
    try:
        reply = collector.reply()
    except ProviderError:
        return
    assert_holds_texts(reply)
    assert reply.text == "".join(texts)
