"""The Anthropic provider against a server on loopback, with the real SDK."""

import gc
import json

import pytest

from antiloop.agent.providers._anthropic import AnthropicProvider, anthropic_messages
from antiloop.agent.providers._protocol import ModelReply, ModelRequest, Thought, ToolSchema, Usage
from antiloop.agent.providers._wire import shows_compaction
from antiloop.exceptions import ProviderError
from antiloop.types import Message, Role, ToolCall

anthropic = pytest.importorskip("anthropic")

ASK = ModelRequest((Message(Role.USER, "hello"),))
SEARCH = ToolSchema("search", "Search the web.", {"type": "object", "properties": {}})
START = {"type": "message_start", "message": {"type": "message", "content": []}}
STOP = {"type": "message_stop"}


@pytest.fixture
async def scripted(anthropic_server):
    """Make a provider whose server answers as the script says."""
    made = []

    def make(options=None, **script):
        own = {"base_url": anthropic_server.url, "api_key": "k", "max_retries": 0}
        made.append(AnthropicProvider(json.dumps(script), client_options=own, **(options or {})))
        return made[-1]

    yield make
    for provider in made:
        await provider.aclose()
    gc.collect()  # a socket left open would be reported now


def block_start(block, index=0):
    return {"type": "content_block_start", "index": index, "content_block": block}


def block_delta(delta, index=0):
    return {"type": "content_block_delta", "index": index, "delta": delta}


async def test_text_is_the_same_in_all_four_ways(scripted, every_way):
    provider = scripted(text="Paris is the capital.", usage=[11, 5])
    expected = ModelReply("Paris is the capital.", (), Usage(11, 5))
    assert await every_way(provider, ASK) == [expected] * 4


async def test_tool_calls_are_the_same_in_all_four_ways(scripted, every_way):
    calls = [["search", '{"q": "a", "n": 3}', "c1"], ["now", "{}", "c2"]]
    replies = await every_way(scripted(text="I look.", calls=calls, usage=[7, 9]), ASK)
    expected = (ToolCall("search", {"q": "a", "n": 3}, "c1"), ToolCall("now", {}, "c2"))
    assert replies == [ModelReply("I look.", expected, Usage(7, 9))] * 4


async def test_streams_yield_the_text_in_pieces(scripted):
    provider = scripted(text="Paris is the capital.")
    items = list(provider.stream(ASK))
    assert len(items) > 3
    assert "".join(items[:-1]) == items[-1].text
    assert [item async for item in provider.astream(ASK)] == items


async def test_a_notice_arrives_as_marked_text_after_the_results(
    scripted, anthropic_server, every_way
):
    calls = (ToolCall("search", {"q": "é"}, "c1"), ToolCall("search", '{"q": ', "c2"))
    conversation = (
        Message(Role.SYSTEM, "Be brief."),
        Message(Role.USER, "find it"),
        Message(Role.ASSISTANT, "", calls),
        Message(Role.TOOL, "nothing", tool_call_id="c1"),
        Message(Role.TOOL, "bad arguments", tool_call_id="c2", is_error=True),
        Message(Role.SYSTEM, "You repeat yourself."),
    )
    await every_way(scripted(text="ok"), ModelRequest(conversation, (SEARCH,)))
    notice = "<system-notice>\nYou repeat yourself.\n</system-notice>"
    raw = {"raw_arguments": '{"q": '}
    for received in anthropic_server.received:
        assert received["system"] == "Be brief."
        assert received["messages"] == [
            {"role": "user", "content": [{"type": "text", "text": "find it"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "tool_use", "id": "c1", "name": "search", "input": {"q": "é"}},
                    {"type": "tool_use", "id": "c2", "name": "search", "input": raw},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": "nothing"},
                    {
                        "type": "tool_result",
                        "tool_use_id": "c2",
                        "content": "bad arguments",
                        "is_error": True,
                    },
                    {"type": "text", "text": notice},
                ],
            },
        ]
        assert received["tools"] == [
            {
                "name": "search",
                "description": "Search the web.",
                "input_schema": {"type": "object", "properties": {}},
            }
        ]
    assert len(anthropic_server.received) == 4


async def test_options_reach_the_server(scripted, anthropic_server, every_way):
    options = {"max_tokens": 77, "stop_sequences": ["END"], "metadata": None}
    await every_way(scripted(options, text="x"), ASK)
    assert [r["max_tokens"] for r in anthropic_server.received] == [77] * 4
    assert [r["stop_sequences"] for r in anthropic_server.received] == [["END"]] * 4
    assert [r.get("stream") for r in anthropic_server.received] == [None, None, True, True]
    assert not any({"metadata", "system", "tools"} & set(r) for r in anthropic_server.received)


async def test_a_schema_is_asked_for_in_the_system_prompt(scripted, anthropic_server, every_way):
    conversation = (Message(Role.SYSTEM, "Be brief."), *ASK.messages)
    request = ModelRequest(conversation, response_schema={"type": "object"})
    await every_way(scripted(text="{}"), request)
    for received in anthropic_server.received:
        assert received["system"].startswith("Be brief.\n\nWhen you give your final answer")
        assert received["system"].endswith('{"type": "object"}')


def test_a_native_schema_goes_to_the_output_config(scripted, anthropic_server):
    options = {"native_schema": True, "output_config": {"effort": "low"}}
    request = ModelRequest(ASK.messages, response_schema={"type": "object"})
    scripted(options, text="{}").complete(request)
    form = {"type": "json_schema", "schema": {"type": "object"}}
    assert anthropic_server.received[0]["output_config"] == {"effort": "low", "format": form}
    assert "system" not in anthropic_server.received[0]


async def test_text_that_is_no_utf8_is_sent_all_the_same(scripted, anthropic_server, every_way):
    conversation = (
        Message(Role.SYSTEM, "in \udcff"),
        Message(Role.USER, "read \udcff"),
        Message(Role.ASSISTANT, "", (ToolCall("read", {"path": "\udcff"}, "c1"),)),
        Message(Role.TOOL, "caf\udce9", tool_call_id="c1"),
    )
    await every_way(scripted(text="ok"), ModelRequest(conversation))
    sent = anthropic_server.received[0]["messages"]
    assert sent[1]["content"][0]["input"] == {"path": "?"}
    assert sent[2]["content"][0]["content"] == "caf?"


def test_a_count_that_a_server_sends_once_is_not_lost_to_a_zero(scripted):
    usage = {"input_tokens": 3, "cache_read_input_tokens": 7, "output_tokens": 1}
    start = {"type": "message_start", "message": {"usage": usage}}
    late = {"input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 2}
    delta = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": late}
    provider = scripted(events=[start, delta, STOP])
    assert list(provider.stream(ASK))[-1].usage == Usage(10, 2)


def test_what_the_cache_holds_counts_as_input(scripted):
    usage = {"input_tokens": 3, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 7}
    body = {"type": "message", "content": [], "usage": {**usage, "output_tokens": 2}}
    start = {"type": "message_start", "message": {**body, "usage": {**usage, "output_tokens": 1}}}
    late = {"input_tokens": 4, "output_tokens": 2}
    delta = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": late}
    provider = scripted(body=body, events=[start, delta, STOP])
    assert provider.complete(ASK).usage == Usage(15, 2)
    assert list(provider.stream(ASK))[-1].usage == Usage(16, 2)


def test_arguments_that_are_cut_off_are_kept_as_text(scripted):
    use = {"type": "tool_use", "id": "c1", "name": "write", "input": {}}
    cut = block_delta({"type": "input_json_delta", "partial_json": '{"text": "lo'})
    reply = list(scripted(events=[START, block_start(use), cut, STOP]).stream(ASK))[-1]
    assert reply.tool_calls == (ToolCall("write", '{"text": "lo', "c1"),)


def test_thoughts_are_no_part_of_the_text(scripted):
    thinking = {"type": "thinking", "thinking": "hm", "signature": ""}
    more = block_delta({"type": "thinking_delta", "thinking": "m"})
    answer = block_start({"type": "text", "text": "He"}, 1)
    rest = block_delta({"type": "text_delta", "text": "llo"}, 1)
    body = {"type": "message", "content": [thinking, {"type": "text", "text": "Hello"}]}
    events = [START, block_start(thinking), more, answer, rest, STOP]
    provider = scripted(body=body, events=events)
    assert provider.complete(ASK) == ModelReply("Hello")
    thoughts = [Thought("hm"), Thought("m")]
    assert list(provider.stream(ASK)) == [*thoughts, "He", "llo", ModelReply("Hello")]


@pytest.mark.parametrize("field", ["content", "encrypted_content"])
async def test_a_compaction_is_kept_and_sent_back_in_all_four_ways(scripted, every_way, field):
    whole = {"type": "compaction", "content": None, field: "So far: nothing."}
    begun = block_start({"type": "compaction", "content": None})
    more = block_delta({"type": "compaction_delta", field: "So far: nothing."})
    said = {"type": "text", "text": "Hello"}
    events = [START, begun, more, block_start(said, 1), STOP]
    provider = scripted(body={"type": "message", "content": [whole, said]}, events=events)
    for reply in await every_way(provider, ASK):
        assert shows_compaction(reply.provider_data)
        message = Message(Role.ASSISTANT, reply.text, provider_data=reply.provider_data)
        _, turns = anthropic_messages([message])
        assert turns == [{"role": "assistant", "content": [whole, said]}]


def test_a_compatible_server_may_send_a_call_in_one_piece(scripted):
    use = {"type": "tool_use", "name": "search", "input": {"q": "a"}}
    reply = list(scripted(events=[START, block_start(use), STOP]).stream(ASK))[-1]
    assert reply.tool_calls == (ToolCall("search", {"q": "a"}),)


@pytest.mark.parametrize("body", [{}, {"content": None}, "hm"])
def test_a_reply_without_content_is_an_error(scripted, body):
    with pytest.raises(ProviderError, match="no content"):
        scripted(body=body).complete(ASK)


@pytest.mark.parametrize("events", [[], [START, block_start({"type": "text", "text": "He"})]])
async def test_a_stream_that_breaks_off_is_an_error(scripted, events):
    provider = scripted(events=events)
    with pytest.raises(ProviderError, match="before the reply was complete"):
        list(provider.stream(ASK))
    with pytest.raises(ProviderError, match="before the reply was complete"):
        [item async for item in provider.astream(ASK)]


def test_a_failure_in_a_stream_says_what_the_server_says(scripted):
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    with pytest.raises(ProviderError, match=r": busy\. Ask again") as raised:
        list(scripted(events=[START, overloaded]).stream(ASK))
    assert raised.value.status is None


def test_leaving_a_stream_early_hangs_up(scripted, anthropic_server):
    more = block_delta({"type": "text_delta", "text": "x" * 1000})
    stream = scripted(endless=True, events=[more]).stream(ASK)
    assert next(stream)
    stream.close()
    assert anthropic_server.hung_up.wait(10)


async def test_leaving_an_async_stream_early_hangs_up(scripted, anthropic_server):
    more = block_delta({"type": "text_delta", "text": "x" * 1000})
    stream = scripted(endless=True, events=[more]).astream(ASK)
    assert await stream.__anext__()
    await stream.aclose()
    assert anthropic_server.hung_up.wait(10)


async def test_clients_of_the_user_are_used_and_left_open(anthropic_server, every_way):
    settings = {"base_url": anthropic_server.url, "api_key": "k"}
    with anthropic.Anthropic(**settings) as client:
        async with anthropic.AsyncAnthropic(**settings) as async_client:
            model = json.dumps({"text": "hi"})
            provider = AnthropicProvider(model, client=client, async_client=async_client)
            async with provider:
                await every_way(provider, ASK)
            assert not client.is_closed()
            assert not async_client.is_closed()
