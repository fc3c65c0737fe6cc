"""A looping model behind a real SDK and a server on loopback: the notice gets it out."""

import json

import pytest

from antiloop import Agent, AgentConfig, LoopDetector, LoopPolicy, RepeatDetector, RunStatus
from antiloop.agent.providers.anthropic import AnthropicProvider
from antiloop.agent.providers.openai import OpenAIProvider

# The model repeats one call, under one id, until it is told so.
MODEL = json.dumps(
    {
        "calls": [["search", '{"q": "a"}', "call_0"]],
        "usage": [10, 2],
        "until": "Notice:",
        "then": {"text": "I stop searching.", "usage": [10, 2]},
    }
)


def search(q: str) -> str:
    """Search the web."""
    return "nothing found"


def looping_agent(provider):
    detector = LoopDetector([RepeatDetector(3)], LoopPolicy.INJECT_MESSAGE)
    return Agent([search], provider, AgentConfig(loop_detector=detector))


async def in_every_way(agent):
    events = [event async for event in agent.astream("find a")]
    return [agent.run("find a"), await agent.arun("find a"), events[-1].result]


def assert_it_came_out_of_the_loop(results, server):
    for result in results:
        assert (result.status, result.text) == (RunStatus.COMPLETED, "I stop searching.")
        assert (result.usage.input_tokens, result.usage.output_tokens) == (40, 8)
        assert len(result.tool_calls) == 3
    assert len(server.received) == 12


async def test_over_openai(openai_server):
    pytest.importorskip("openai")
    own = {"base_url": openai_server.url, "api_key": "k"}
    async with OpenAIProvider(MODEL, client_options=own) as provider:
        results = await in_every_way(looping_agent(provider))
    assert_it_came_out_of_the_loop(results, openai_server)
    last = openai_server.received[-1]["messages"]
    assert [message["role"] for message in last][-3:] == ["assistant", "tool", "system"]
    assert "'search' was called 3 times in a row" in last[-1]["content"]


async def test_over_anthropic(anthropic_server):
    pytest.importorskip("anthropic")
    own = {"base_url": anthropic_server.url, "api_key": "k"}
    async with AnthropicProvider(MODEL, client_options=own) as provider:
        results = await in_every_way(looping_agent(provider))
    assert_it_came_out_of_the_loop(results, anthropic_server)
    result, notice = anthropic_server.received[-1]["messages"][-1]["content"]
    assert (result["type"], notice["type"]) == ("tool_result", "text")
    assert notice["text"].startswith("<system-notice>\n")
    uses = [
        block["id"]
        for message in anthropic_server.received[-1]["messages"]
        for block in message["content"]
        if block["type"] == "tool_use"
    ]
    assert len(set(uses)) == 3
