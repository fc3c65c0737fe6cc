"""Whatever a server puts in the place of a text or a list, a reply holds texts."""

from hypothesis import given
from hypothesis import strategies as st

from antiloop.agent.providers.anthropic import AnthropicProvider
from antiloop.agent.providers.openai import OpenAIProvider
from antiloop.exceptions import ProviderError

PROVIDERS = {
    "openai": OpenAIProvider("m", client=object()),
    "anthropic": AnthropicProvider("m", client=object()),
}
CALLS = [{"index": 0, "id": "c", "function": {"name": "look", "arguments": "{}"}}]
WHOLE = {
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
    for call in reply.tool_calls:
        assert isinstance(call.tool_name, str)
        assert call.id is None or isinstance(call.id, str)


@given(st.sampled_from(sorted(PROVIDERS)), st.data())
def test_a_whole_reply_holds_texts_or_is_refused(vendor, data):
    answer = data.draw(mutated(WHOLE[vendor]))
    try:
        reply = PROVIDERS[vendor]._reply(answer)
    except ProviderError:
        return
    assert_holds_texts(reply)


@given(st.sampled_from(sorted(PROVIDERS)), st.data())
def test_a_streamed_reply_holds_texts_or_is_refused(vendor, data):
    collector = PROVIDERS[vendor]._collector()
    texts = [collector.add(event) for event in data.draw(st.tuples(*map(mutated, EVENTS[vendor])))]
    assert all(isinstance(text, str) for text in texts)
    try:
        reply = collector.reply()
    except ProviderError:
        return
    assert_holds_texts(reply)
    assert reply.text == "".join(texts)
