"""Thoughts that repeat themselves without end, over the real SDKs: the stream is left early."""

import gc
import json
from functools import partial

import pytest
from strict_server import responses_text, responses_whole

from antiloop import Agent, AgentConfig, LoopDetector, RunStatus
from antiloop.agent import LoopDetected, TextDelta
from antiloop.agent.providers._anthropic import AnthropicProvider
from antiloop.agent.providers._openai import OpenAIProvider
from antiloop.agent.providers._protocol import ModelRequest, Thought
from antiloop.types import Message, Role

pytest.importorskip("openai")
pytest.importorskip("anthropic")

CHANT = "I should look at the file again before I go on. "
ASK = ModelRequest((Message(Role.USER, "hello"),))


def chunk(**delta):
    return {"id": "r", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]}


def thinking(text):
    delta = {"type": "thinking_delta", "thinking": text}
    return {"type": "content_block_delta", "index": 0, "delta": delta}


def detailed(text):
    return chunk(reasoning=text, reasoning_details=[{"type": "reasoning.text", "text": text}])


def reasoned(kind):
    return lambda text: {"type": f"response.{kind}.delta", "output_index": 0, "delta": text}


WAYS_TO_THINK = {
    "responses": ("responses", reasoned("reasoning_summary_text")),
    "gpt-oss": ("responses", reasoned("reasoning_text")),
    "deepseek": ("openai", lambda text: chunk(reasoning_content=text)),
    "vllm": ("openai", lambda text: chunk(reasoning=text)),
    "openrouter": ("openai", detailed),
    "summary": ("openai", lambda text: chunk(reasoning_details=[{"summary": text}])),
    "anthropic": ("anthropic", thinking),
}
MAKE = {
    "openai": OpenAIProvider,
    "responses": partial(OpenAIProvider, api="responses"),
    "anthropic": AnthropicProvider,
}
STREAMS = ("stream", "astream")


@pytest.fixture
async def scripted(request, openai_server, responses_server, anthropic_server):
    """Make a provider whose server answers as the script says."""
    servers = {
        "openai": openai_server,
        "responses": responses_server,
        "anthropic": anthropic_server,
    }
    made = []

    def make(vendor, **script):
        own = {"base_url": servers[vendor].url, "api_key": "k", "max_retries": 0}
        made.append(MAKE[vendor](json.dumps(script), client_options=own))
        return made[-1], servers[vendor]

    yield make
    for provider in made:
        await provider.aclose()
    gc.collect()  # a socket left open would be reported now


async def events_of(agent, way):
    if way == "stream":
        return list(agent.stream("Hi"))
    return [event async for event in agent.astream("Hi")]


@pytest.mark.parametrize("way", STREAMS)
@pytest.mark.parametrize("thinker", WAYS_TO_THINK)
async def test_a_chant_in_thoughts_ends_the_stream_and_the_model_is_told(thinker, way, scripted):
    vendor, event = WAYS_TO_THINK[thinker]
    later = {"text": "Done."}
    script = {"events": [event(CHANT)], "endless": True, "until": "[antiloop]", "then": later}
    provider, server = scripted(vendor, **script)
    config = AgentConfig(loop_detector=LoopDetector.escalating())
    events = await events_of(Agent([], provider, config), way)
    assert server.hung_up.wait(10)
    result = events[-1].result
    assert (result.status, result.text, result.iterations) == (RunStatus.COMPLETED, "Done.", 2)
    (loop,) = (each for each in events if isinstance(each, LoopDetected))
    assert (loop.detector_name, loop.action.value) == ("chant", "notify")
    assert "".join(each.text for each in events if isinstance(each, TextDelta)) == "Done."
    # What it thinks is told to no one, not even to itself.
    assert "look at the file" not in json.dumps({**server.received[-1], "model": ""})
    assert "look at the file" not in repr(result.trace.steps)


@pytest.mark.parametrize("thinker", WAYS_TO_THINK)
async def test_a_stream_tells_thoughts_from_text(thinker, scripted):
    vendor, event = WAYS_TO_THINK[thinker]
    said = {
        "openai": [chunk(content="Yes."), "[DONE]"],
        "responses": [
            {"type": "response.output_text.delta", "output_index": 1, "delta": "Yes."},
            {"type": "response.completed", "response": responses_whole([responses_text("Yes.")])},
        ],
        "anthropic": [
            {
                "type": "content_block_delta",
                "index": 1,
                "delta": {"type": "text_delta", "text": "Yes."},
            },
            {"type": "message_stop"},
        ],
    }[vendor]
    provider, _ = scripted(vendor, events=[event("Is it"), event(" so?"), *said])
    *pieces, reply = provider.stream(ASK)
    assert pieces == [Thought("Is it"), Thought(" so?"), "Yes."]
    assert reply.text == "Yes."
    assert [item async for item in provider.astream(ASK)] == [*pieces, reply]


async def test_thoughts_are_judged_by_no_other_detector(scripted):
    chants = [thinking(CHANT)] * 60
    provider, _ = scripted("anthropic", events=[*chants, {"type": "message_stop"}])
    events = await events_of(
        Agent([], provider, AgentConfig(loop_detector=LoopDetector.default())), "astream"
    )
    assert not any(isinstance(each, LoopDetected) for each in events)
    assert events[-1].result.status is RunStatus.COMPLETED


def test_thoughts_are_not_shown():
    assert "secret" not in repr(Thought("secret"))
