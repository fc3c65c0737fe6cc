"""The Responses API: what is sent, and how odd answers are read; with the real SDK."""

import json
from dataclasses import dataclass, replace

import pytest
from strict_server import (
    WAYS,
    Refused,
    responses_call,
    responses_events,
    responses_reasoning,
    responses_replies,
    responses_text,
    responses_whole,
    runs_over,
)

from antiloop import Agent, RunStatus
from antiloop.agent import ModelReply, ReplyEnd
from antiloop.agent.providers._openai import OpenAIProvider
from antiloop.agent.providers._openai_responses import responses_input
from antiloop.agent.providers._protocol import ModelRequest, ToolSchema, Usage
from antiloop.exceptions import ProviderError
from antiloop.types import Image, Message, Role, ToolCall

pytest.importorskip("openai")

SOURCE = "openai-responses"
PIXEL = Image("iVBORw0KGgo=", "image/png")
ASK = ModelRequest((Message(Role.USER, "hello"),))


def look(at: str, how: str = "") -> str:
    """Look at a place."""
    return f"Nothing at {at}."


def ask(way, script, prompt="Where?", tools=(), **options):
    """Run an agent over a server, and return its result and what the server received."""
    options = {"api": "responses", **options}
    streamed = responses_events
    (result,), received = runs_over(
        OpenAIProvider, way, script, streamed, prompt, tools=tools, options=options
    )
    return result, received


def offline(**options):
    return OpenAIProvider("m", api="responses", client=object(), **options)


def sent(request=ASK, **options):
    return offline(**options)._arguments(request, False, None)


def read(whole, **options):
    return offline(**options)._reply(whole, None)


def test_a_request_keeps_nothing_on_the_server_and_asks_for_the_reasoning():
    tool = ToolSchema("look", "Look.", {"type": "object", "properties": {}})
    request = replace(ASK, tools=(tool,), may_call=False)
    assert sent(request, temperature=0) == {
        "model": "m",
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "temperature": 0,
        "input": [{"role": "user", "content": "hello"}],
        "tools": [
            {
                "type": "function",
                "name": "look",
                "description": "Look.",
                "parameters": {"type": "object", "properties": {}},
                "strict": False,
            }
        ],
        "tool_choice": "none",
    }


def test_a_model_that_does_not_reason_is_asked_for_no_reasoning():
    assert "include" not in sent(include=None)


def test_more_may_be_included():
    wanted = ["message.output_text.logprobs"]
    assert sent(include=wanted)["include"] == [*wanted, "reasoning.encrypted_content"]
    whole = [*wanted, "reasoning.encrypted_content"]
    assert sent(include=whole)["include"] == whole


def test_a_schema_is_sent_beside_other_wishes_for_the_text():
    request = replace(ASK, response_schema={"type": "object", "title": "Place"})
    assert sent(request, text={"verbosity": "low"})["text"] == {
        "verbosity": "low",
        "format": {
            "type": "json_schema",
            "name": "Place",
            "schema": {"type": "object", "title": "Place"},
            "strict": False,
        },
    }


@pytest.mark.parametrize("option", ["input", "tools", "stream", "previous_response_id"])
def test_what_every_request_sets_is_no_option(option):
    with pytest.raises(ValueError, match=f"{option}: set by each request"):
        offline(**{option: "x"})


def test_an_api_that_is_not_known_is_refused():
    with pytest.raises(ValueError, match="unknown api 'assistants'; choose from chat, responses"):
        OpenAIProvider("m", api="assistants", client=object())


def test_an_sdk_that_is_too_old_says_so():
    with pytest.raises(ImportError, match=r"needs openai 1\.66 or later"):
        Agent([], offline()).run("hello")


@dataclass
class Place:
    city: str


@pytest.mark.parametrize("way", WAYS)
def test_an_answer_with_a_schema_arrives_as_what_it_is(way):
    def script(request):
        responses_replies(request)
        assert request["text"]["format"]["schema"]["required"] == ["city"]
        return responses_whole([responses_reasoning("Rome."), responses_text('{"city": "Rome"}')])

    (result,), _ = runs_over(
        OpenAIProvider,
        way,
        script,
        responses_events,
        "Where?",
        options={"api": "responses"},
        asked={"response_format": Place},
    )
    assert result.output == Place("Rome")


@pytest.mark.parametrize("way", WAYS)
def test_a_refusal_is_no_answer(way):
    refusal = {**responses_text(""), "content": [{"type": "refusal", "refusal": "I will not."}]}
    result, _ = ask(way, lambda _: responses_whole([refusal]))
    assert (result.status, result.text) == (RunStatus.TRUNCATED, "I will not.")
    assert result.error == "the model refused to answer"


@pytest.mark.parametrize("way", WAYS)
def test_tokens_are_counted(way):
    result, _ = ask(way, lambda _: responses_whole([responses_text("Yes.")]))
    assert result.usage == Usage(3, 5)


@pytest.mark.parametrize("way", WAYS)
def test_a_reply_that_failed_says_why(way):
    error = {"code": "server_error", "message": "The model is down."}
    whole = responses_whole([responses_text("So")], status="failed", error=error)
    with pytest.raises(ProviderError, match="The model is down"):
        ask(way, lambda _: whole)


@pytest.mark.parametrize("status", ["cancelled", "queued", "in_progress"])
def test_a_reply_that_is_not_over_is_an_error(status):
    with pytest.raises(ProviderError, match=f"the reply has the status '{status}'"):
        read(responses_whole([responses_text("So")], status=status))


def test_a_stream_that_fails_says_why():
    collector = offline()._collector(None)
    with pytest.raises(ProviderError, match="Rate limit reached"):
        collector.add({"type": "error", "code": "x", "message": "Rate limit reached"})


def test_a_stream_without_a_reply_is_an_error():
    collector = offline()._collector(None)
    collector.add({"type": "response.created", "response": {}})
    with pytest.raises(ProviderError, match="ended without a reply"):
        collector.reply()


def test_a_reply_without_output_is_an_error():
    with pytest.raises(ProviderError, match="the reply has no output"):
        read({"choices": []})


def test_a_reply_may_end_early_for_a_reason_of_the_servers():
    reply = read(responses_whole([responses_text("So")], "max_messages"))
    assert (reply.end, reply.end_detail) == (
        ReplyEnd.BROKEN,
        "the server ended the reply early (max_messages)",
    )


def test_a_server_may_stream_whole_items_alone():
    collector = offline()._collector(None)
    whole = responses_whole([responses_text("Yes.")])
    events = [
        {"type": "response.output_item.done", "output_index": 0, "item": whole["output"][0]},
        {"type": "response.completed", "response": whole},
    ]
    assert [text for event in events for text in collector.add(event)] == ["Yes."]
    assert collector.reply().text == "Yes."
    collector = offline()._collector(None)
    assert collector.add(events[1]) == ["Yes."]
    assert collector.reply() == ModelReply("Yes.", (), Usage(3, 5))


def test_images_follow_the_text_that_they_belong_to():
    call = ToolCall("look", {"at": "a"}, "c1")
    conversation = [
        Message(Role.USER, "See.", images=(PIXEL,)),
        Message(Role.ASSISTANT, "", (call,)),
        Message(Role.TOOL, "", tool_call_id="c1", images=(PIXEL,)),
    ]
    shown = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}
    asked, called, seen = responses_input(conversation)
    assert asked["content"] == [{"type": "input_text", "text": "See."}, shown]
    assert json.loads(called["arguments"]) == {"at": "a"}
    assert seen == {"type": "function_call_output", "call_id": "c1", "output": [shown]}
    bare = sent(ModelRequest(tuple(conversation)), takes_images=False)["input"]
    assert (bare[0]["content"], bare[2]["output"]) == ("See.", "")


def thought_of(*output):
    """Return a reply of these items as a message."""
    reply = read(responses_whole(list(output)))
    data = reply.provider_data
    return Message(Role.ASSISTANT, reply.text, reply.tool_calls, provider_data=data)


REASONING, SAID, CALL = (
    responses_reasoning("So.", 1),
    responses_text("I look at both.", 1),
    responses_call("look", '{"at": "a"}', 1),
)


def test_a_message_that_was_changed_keeps_its_reasoning_in_front():
    message = thought_of(SAID, REASONING, CALL)
    assert responses_input([message], SOURCE) == [SAID, REASONING, CALL]
    shorter = replace(message, content="I look.")
    reasoning, said, call = responses_input([shorter], SOURCE)
    assert (reasoning, said) == (REASONING, {"role": "assistant", "content": "I look."})
    assert call == {key: CALL[key] for key in ("type", "call_id", "name", "arguments")}
    silent = replace(message, content="", tool_calls=())
    assert responses_input([silent], SOURCE) == []


def test_an_assistant_that_says_nothing_is_left_out():
    assert responses_input([Message(Role.ASSISTANT), thought_of(REASONING)], SOURCE) == []
    empty = {**SAID, "content": []}
    assert responses_input([thought_of(empty, REASONING, CALL)], SOURCE) == [REASONING, CALL]


@pytest.mark.parametrize("items", [5, ["x"], [{"antiloop_length": "x"}], None])
def test_provider_data_that_is_odd_is_passed_over(items):
    data = {"provider": SOURCE, "items": items}
    message = Message(Role.ASSISTANT, "Yes.", provider_data=data)
    (said,) = responses_input([message], SOURCE)
    assert said["content"] == "Yes."


def test_the_server_refuses_a_conversation_without_its_reasoning():
    def script(request):
        replies = responses_replies(request)
        if any(reply[0]["type"] != "reasoning" for reply in replies):
            raise Refused("'function_call' was provided without its required 'reasoning' item")
        return responses_whole([responses_reasoning("So."), CALL])

    messages = [
        Message(Role.USER, "Where?"),
        Message(Role.ASSISTANT, "", (ToolCall("look", {"at": "a"}, "call_1"),)),
        Message(Role.TOOL, "Nothing.", tool_call_id="call_1"),
    ]
    with pytest.raises(ProviderError, match="without its required 'reasoning' item"):
        ask("run", script, messages, [look])
