"""One run, told message by message: reasoning, a cut call, a schema in words, a cut answer."""

import json
from dataclasses import dataclass

import pytest
from strict_server import (
    WAYS,
    Refused,
    anthropic_events,
    anthropic_whole,
    in_way,
    openai_events,
    openai_whole,
    responses_call,
    responses_events,
    responses_reasoning,
    responses_replies,
    responses_text,
    responses_whole,
    serving,
)

from antiloop import Agent, AgentConfig, LoopDetector
from antiloop.agent.providers._anthropic import AnthropicProvider
from antiloop.agent.providers._openai import OpenAIProvider

pytest.importorskip("openai")
pytest.importorskip("anthropic")


@dataclass
class Place:
    """What the run is to find."""

    city: str


def look(at: str, how: str = "") -> str:
    """Look at a place."""
    return f"Nothing at {at}."


class Anthropic:
    make, events = AnthropicProvider, staticmethod(anthropic_events)

    @staticmethod
    def script(request):
        replies = [each for each in request["messages"] if each["role"] == "assistant"]
        if "output_config" in request or "give one JSON value" not in request["system"]:
            raise Refused("this model takes a schema in words alone")
        for number, reply in enumerate(replies[:2]):
            thought = {"type": "thinking", "thinking": "Hm.", "signature": f"s{number}"}
            if reply["content"][0] != thought:
                raise Refused("thinking blocks cannot be modified or left out")
        return len(replies)

    @staticmethod
    def calls(number, *places, cut=False):
        thought = {"type": "thinking", "thinking": "Hm.", "signature": f"s{number}"}
        used = [
            {"type": "tool_use", "id": f"c{number}-{at}", "name": "look", "input": {"at": at}}
            for at in places
        ]
        return anthropic_whole([thought, *used], "max_tokens" if cut else "tool_use")

    @staticmethod
    def text(said, cut=False):
        block = {"type": "text", "text": said}
        return anthropic_whole([block], "max_tokens" if cut else "end_turn")


class OpenAI:
    make, events = OpenAIProvider, staticmethod(openai_events)

    @staticmethod
    def script(request):
        replies = [each for each in request["messages"] if each["role"] == "assistant"]
        if "response_format" in request or "give one JSON value" not in str(request["messages"][0]):
            raise Refused("response_format cannot be used together with tools")
        for number, reply in enumerate(replies[:2]):
            if reply.get("reasoning_content") != f"Hm {number}.":
                raise Refused("Missing `reasoning_content` field in the assistant message")
        return len(replies)

    @staticmethod
    def calls(number, *places, cut=False):
        functions = [{"name": "look", "arguments": json.dumps({"at": at})} for at in places]
        calls = [
            {"id": f"c{number}-{at}", "type": "function", "function": function}
            for at, function in zip(places, functions)
        ]
        reply = {"content": None, "reasoning_content": f"Hm {number}.", "tool_calls": calls}
        return openai_whole(reply, "length" if cut else "tool_calls")

    @staticmethod
    def text(said, cut=False):
        return openai_whole({"content": said}, "length" if cut else "stop")


class Responses:
    make, events = OpenAIProvider, staticmethod(responses_events)

    @staticmethod
    def script(request):
        replies = responses_replies(request)
        if "text" in request or "give one JSON value" not in request["input"][0]["content"]:
            raise Refused("text.format cannot be used together with tools")
        for number, reply in enumerate(replies[:2]):
            if reply[0] != responses_reasoning("Hm.", number):
                raise Refused("'function_call' was provided without its required 'reasoning' item")
        return len(replies)

    @staticmethod
    def calls(number, *places, cut=False):
        calls = [
            responses_call("look", json.dumps({"at": at}), f"{number}-{at}", status="completed")
            for at in places
        ]
        reasoning = responses_reasoning("Hm.", number)
        return responses_whole([reasoning, *calls], "max_output_tokens" if cut else "")

    @staticmethod
    def text(said, cut=False):
        return responses_whole([responses_text(said)], "max_output_tokens" if cut else "")


OPTIONS = {
    OpenAI: {"native_schema": False},
    Responses: {"api": "responses", "native_schema": False},
    Anthropic: {},
}
IDS = [api.__name__.lower() for api in OPTIONS]


async def told(api, way, *last):
    """Run over a server, and tell the result and the messages of the run, each in a line."""

    def script(request):
        number = api.script(request)
        replies = [api.calls(0, "a"), api.calls(1, "b", "c", cut=True), *last]
        return replies[number]

    with serving(script, api.events) as server:
        own = {"base_url": server.url, "api_key": "k", "max_retries": 0}
        async with api.make("m", client_options=own, **OPTIONS[api]) as provider:
            config = AgentConfig(loop_detector=LoopDetector.escalating())
            agent = Agent([look], provider, config)
            result = await in_way(way, agent, "Where?", response_format=Place)
    lines = [
        f"{each.role.value}: {each.content.partition(':')[0]}"
        + "".join(f" {call.tool_name}({call.arguments['at']})" for call in each.tool_calls)
        for each in result.messages
    ]
    return result, lines


BEGIN = [
    "user: Where?",
    "assistant:  look(a)",
    "tool: Nothing at a.",
    "assistant:  look(b) look(c)",
    "tool: Nothing at b.",
    "tool: Tool 'look' was not run",
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("api", OPTIONS, ids=IDS)
async def test_a_run_comes_to_its_answer(api, way):
    last = api.text("In Rome."), api.text('{"city": "Rome"}')
    result, lines = await told(api, way, *last)
    assert (result.status.value, result.output) == ("completed", Place("Rome"))
    assert lines == [
        *BEGIN,
        "assistant: In Rome.",
        "user: Your answer does not have the required form. not valid JSON",
        'assistant: {"city"',
    ]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("api", OPTIONS, ids=IDS)
async def test_a_run_ends_with_an_answer_that_was_cut(api, way):
    result, lines = await told(api, way, api.text('{"city": "Ro', cut=True))
    assert (result.status.value, result.output) == ("truncated", None)
    assert "the most tokens that the model allows" in result.error
    assert lines == [*BEGIN, 'assistant: {"city"']
