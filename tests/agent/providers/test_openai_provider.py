"""The OpenAI provider against a server on loopback, with the real SDK."""

import gc
import json

import pytest

from antiloop import Agent, RunStatus
from antiloop.agent.providers._openai import OpenAIProvider
from antiloop.agent.providers._protocol import (
    ModelReply,
    ModelRequest,
    ReplyEnd,
    ToolSchema,
    Usage,
)
from antiloop.exceptions import ProviderError
from antiloop.types import Message, Role, ToolCall

openai = pytest.importorskip("openai")

ASK = ModelRequest((Message(Role.USER, "hello"),))
SEARCH = ToolSchema("search", "Search the web.", {"type": "object", "properties": {}})


@pytest.fixture
async def scripted(openai_server):
    """Make a provider whose server answers as the script says."""
    made = []

    def make(options=None, **script):
        own = {"base_url": openai_server.url, "api_key": "k", "max_retries": 0}
        made.append(OpenAIProvider(json.dumps(script), client_options=own, **(options or {})))
        return made[-1]

    yield make
    for provider in made:
        await provider.aclose()
    gc.collect()  # a socket left open would be reported now


def chunk(delta=None, **more):
    choices = [] if delta is None else [{"index": 0, "delta": delta}]
    return {"id": "r", "object": "chat.completion.chunk", "choices": choices, **more}


END = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}


def call_delta(name=None, arguments=None, **more):
    return chunk({"tool_calls": [{"function": {"name": name, "arguments": arguments}, **more}]})


async def test_text_is_the_same_in_all_four_ways(scripted, every_way):
    provider = scripted(text="Paris is the capital.", usage=[11, 5])
    assert (
        await every_way(provider, ASK)
        == [ModelReply("Paris is the capital.", (), Usage(11, 5))] * 4
    )


async def test_tool_calls_are_the_same_in_all_four_ways(scripted, every_way):
    calls = [["search", '{"q": "a", "n": 3}', "c1"], ["now", "", "c2"], ["search", '{"q": ', "c3"]]
    replies = await every_way(scripted(text="I look.", calls=calls, usage=[7, 9]), ASK)
    expected = (
        ToolCall("search", {"q": "a", "n": 3}, "c1"),
        ToolCall("now", {}, "c2"),
        ToolCall("search", '{"q": ', "c3"),
    )
    assert replies == [ModelReply("I look.", expected, Usage(7, 9))] * 4


async def test_streams_yield_the_text_in_pieces(scripted):
    provider = scripted(text="Paris is the capital.")
    items = list(provider.stream(ASK))
    assert len(items) > 3
    assert "".join(items[:-1]) == items[-1].text
    assert [item async for item in provider.astream(ASK)] == items


async def test_a_notice_arrives_as_a_system_message_after_the_results(
    scripted, openai_server, every_way
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
    arguments = ['{"q": "é"}', json.dumps({"raw_arguments": '{"q": '})]
    functions = [{"name": "search", "arguments": each} for each in arguments]
    sent_calls = [
        {"id": call_id, "type": "function", "function": function}
        for call_id, function in zip(("c1", "c2"), functions)
    ]
    for received in openai_server.received:
        assert received["messages"] == [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "find it"},
            {"role": "assistant", "content": None, "tool_calls": sent_calls},
            {"role": "tool", "tool_call_id": "c1", "content": "nothing"},
            {"role": "tool", "tool_call_id": "c2", "content": "bad arguments"},
            {"role": "system", "content": "You repeat yourself."},
        ]
        assert received["tools"][0]["function"]["name"] == "search"
    assert len(openai_server.received) == 4


async def test_options_and_the_schema_reach_the_server(scripted, openai_server, every_way):
    schema = {"title": "An answer", "type": "object"}
    provider = scripted({"temperature": 0, "stream_options": {"include_usage": False}}, text="{}")
    await every_way(provider, ModelRequest(ASK.messages, response_schema=schema))
    asked = {"type": "json_schema", "json_schema": {"name": "An_answer", "schema": schema}}
    assert [r["response_format"] for r in openai_server.received] == [asked] * 4
    assert [r["temperature"] for r in openai_server.received] == [0] * 4
    assert [r.get("stream_options") for r in openai_server.received] == [
        None,
        None,
        {"include_usage": False},
        {"include_usage": False},
    ]
    assert all("tools" not in r for r in openai_server.received)


def test_usage_is_asked_for_unless_told_otherwise(scripted, openai_server):
    list(scripted(text="x").stream(ASK))
    list(scripted({"stream_options": None}, text="x").stream(ASK))
    asked = [r.get("stream_options") for r in openai_server.received]
    assert asked == [{"include_usage": True}, None]


async def test_text_that_is_no_utf8_is_sent_all_the_same(scripted, openai_server, every_way):
    conversation = (
        Message(Role.USER, "read \udcff"),
        Message(Role.ASSISTANT, "", (ToolCall("read", {"path": "\udcff"}, "c1"),)),
        Message(Role.TOOL, "caf\udce9", tool_call_id="c1"),
    )
    await every_way(scripted(text="ok"), ModelRequest(conversation))
    assert openai_server.received[0]["messages"][2]["content"] == "caf?"


@pytest.mark.parametrize("body", [{}, {"choices": []}, {"choices": None}, {"choices": [{}]}, "hm"])
def test_a_reply_without_a_choice_is_an_error(scripted, body):
    with pytest.raises(ProviderError, match="no choice"):
        scripted(body=body).complete(ASK)


def test_what_the_server_says_went_wrong_is_in_the_error(scripted):
    with pytest.raises(ProviderError, match="model is overloaded"):
        scripted(body={"error": {"message": "model is overloaded"}}).complete(ASK)


@pytest.mark.parametrize("events", [[], ["[DONE]"], [chunk()], [chunk(choices=None)]])
async def test_a_stream_without_a_choice_is_an_error(scripted, events):
    provider = scripted(events=events)
    with pytest.raises(ProviderError, match="without a choice"):
        list(provider.stream(ASK))
    with pytest.raises(ProviderError, match="without a choice"):
        [item async for item in provider.astream(ASK)]


@pytest.mark.parametrize("after", [[], [{"choices": [{**END["choices"][0], "index": 1}]}]])
async def test_a_stream_without_a_mark_of_its_end_is_an_incomplete_reply(scripted, after):
    begun = [chunk({"content": "The answer"}), call_delta("a", '{"x":', index=0, id="1")]
    provider = scripted(events=[*begun, *after])
    for reply in (
        list(provider.stream(ASK))[-1],
        [item async for item in provider.astream(ASK)][-1],
    ):
        assert (reply.text, reply.tool_calls) == (
            "The answer",
            (ToolCall("a", '{"x":', id="1"),),
        )
        assert reply.end is ReplyEnd.BROKEN
        assert "has_end_mark=False" in reply.end_detail


def test_a_server_that_never_marks_the_end_of_a_stream_is_believed(scripted):
    provider = scripted({"has_end_mark": False}, events=[chunk({"content": "Yes"}), "[DONE]"])
    assert list(provider.stream(ASK))[-1] == ModelReply("Yes")


def test_a_stream_may_end_with_its_usage_alone(scripted, caplog):
    usage = {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}}
    reply = list(scripted(events=[chunk({"content": "Yes"}), usage, "[DONE]"]).stream(ASK))[-1]
    assert reply == ModelReply("Yes", (), Usage(1, 2))
    assert not caplog.records


def test_a_lenient_server_may_leave_much_out_of_a_reply(scripted):
    call = {"function": {"name": "now", "arguments": None}}
    given = {"function": {"name": "search", "arguments": {"q": "a"}}, "type": "function"}
    message = {"content": None, "tool_calls": [call, given]}
    reply = scripted(body={"choices": [{"message": message}]}).complete(ASK)
    assert reply == ModelReply("", (ToolCall("now", {}), ToolCall("search", {"q": "a"})))


def test_content_in_parts_and_refusals_are_text(scripted):
    parts = [{"type": "thinking"}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    refused = ModelReply("No.", end=ReplyEnd.WITHHELD, end_detail="the model refused to answer")
    for message, reply in [
        ({"content": parts}, ModelReply("ab")),
        ({"content": None, "refusal": "No."}, refused),
    ]:
        whole = {"choices": [{"message": message}]}
        provider = scripted(body=whole, events=[chunk(message), END, "[DONE]"])
        assert provider.complete(ASK) == reply
        assert list(provider.stream(ASK)) == [reply.text, reply]


@pytest.mark.parametrize("response_format", [None, {"type": "object"}])
def test_a_refusal_is_no_answer_and_is_not_asked_for_again(
    scripted, openai_server, response_format
):
    body = {"choices": [{"message": {"content": None, "refusal": "No."}, "finish_reason": "stop"}]}
    result = Agent([], scripted(body=body)).run("Go", response_format=response_format)
    assert (result.status, result.text) == (RunStatus.TRUNCATED, "No.")
    assert result.error == "the model refused to answer"
    assert len(openai_server.received) == 1


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param(
            [call_delta("a", "{}"), call_delta("b", '{"x":'), call_delta(None, "1}")],
            [("a", {}, None), ("b", {"x": 1}, None)],
            id="neither index nor id",
        ),
        pytest.param(
            [call_delta("a", "{}", index=0, id="1"), call_delta("a", "{}", index=0, id="2")],
            [("a", {}, "1"), ("a", {}, "2")],
            id="index always zero",
        ),
        pytest.param(
            [call_delta("a", '{"x":1}', index=0), call_delta("a", '{"x":2}', index=0)],
            [("a", {"x": 1}, None), ("a", {"x": 2}, None)],
            id="index always zero and no id",
        ),
        pytest.param(
            [call_delta("a", "{}", index=0, id="1"), call_delta("b", "{}", index=0, id="1")],
            [("a", {}, "1"), ("b", {}, "1")],
            id="index always zero and one id",
        ),
        pytest.param(
            [
                call_delta("a", '{"x":{}', index=0, id="1"),
                call_delta("a", "}", index=0, id="1"),
                call_delta("a", "", index=0, id="1"),
            ],
            [("a", {"x": {}}, "1")],
            id="name and id in every chunk, to the end",
        ),
        pytest.param(
            [call_delta("a", '{"x":', index=0, id="1"), call_delta("a", "1}", index=0, id="1")],
            [("a", {"x": 1}, "1")],
            id="name and id in every chunk",
        ),
        pytest.param(
            [
                call_delta("a", "", index=0, id="1"),
                call_delta("b", "", index=1, id="2"),
                call_delta(None, '{"x":1}', index=0),
                call_delta(None, '{"x":2}', index=1),
            ],
            [("a", {"x": 1}, "1"), ("b", {"x": 2}, "2")],
            id="interleaved",
        ),
        pytest.param(
            [call_delta("a", {"x": 1}, index=0, id="1")],
            [("a", {"x": 1}, "1")],
            id="arguments as an object",
        ),
        pytest.param(
            [chunk({"content": None, "tool_calls": None}), chunk(), call_delta("a", None, index=0)],
            [("a", {}, None)],
            id="empty chunks",
        ),
    ],
)
def test_a_lenient_server_may_stream_calls_its_own_way(scripted, events, expected):
    reply = list(scripted(events=[*events, END, "[DONE]"]).stream(ASK))[-1]
    assert [(c.tool_name, c.arguments, c.id) for c in reply.tool_calls] == expected
    assert reply.usage == Usage()


def test_of_several_choices_the_first_is_the_reply(scripted):
    other = {"choices": [{"index": 1, "delta": {"content": "other"}}]}
    first = {"choices": [{"index": 0, "delta": {"content": "first"}}]}
    assert list(scripted(events=[other, first, END, "[DONE]"]).stream(ASK))[-1].text == "first"


def test_leaving_a_stream_early_hangs_up(scripted, openai_server):
    stream = scripted(
        text="x" * 1000, endless=True, events=[chunk({"content": "x" * 1000})]
    ).stream(ASK)
    assert next(stream)
    stream.close()
    assert openai_server.hung_up.wait(10)


async def test_leaving_an_async_stream_early_hangs_up(scripted, openai_server):
    stream = scripted(endless=True, events=[chunk({"content": "x" * 1000})]).astream(ASK)
    assert await stream.__anext__()
    await stream.aclose()
    assert openai_server.hung_up.wait(10)


async def test_clients_of_the_user_are_used_and_left_open(openai_server, every_way):
    settings = {"base_url": openai_server.url, "api_key": "k"}
    with openai.OpenAI(**settings) as client:
        async with openai.AsyncOpenAI(**settings) as async_client:
            model = json.dumps({"text": "hi"})
            provider = OpenAIProvider(model, client=client, async_client=async_client)
            async with provider:
                await every_way(provider, ASK)
            assert not client.is_closed()
            assert not async_client.is_closed()
