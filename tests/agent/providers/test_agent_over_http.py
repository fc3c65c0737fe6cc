"""A looping model behind a real SDK and a server on loopback: the notice gets it out."""

import asyncio
import gc
import json

import pytest

from antiloop import Agent, AgentConfig, LoopDetector, LoopPolicy, RepeatDetector, RunStatus
from antiloop.agent import ModelJudge
from antiloop.agent._drivers.asking import aask, ask
from antiloop.agent.providers._anthropic import AnthropicProvider
from antiloop.agent.providers._openai import OpenAIProvider
from antiloop.loop_detection import CaseFile, SecondOpinion

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


@pytest.mark.parametrize(
    "run",
    [
        lambda agent: list(agent.stream("find a"))[-1].result,
        lambda agent: asyncio.run(agent.arun("find a")),
    ],
    ids=["stream", "arun"],
)
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_one_provider_serves_one_run_after_the_other(openai_server, run):
    pytest.importorskip("openai")

    def answers():
        own = {"base_url": openai_server.url, "api_key": "k"}
        with OpenAIProvider(MODEL, client_options=own) as provider:
            agent = looping_agent(provider)
            return [run(agent).text for _ in range(3)]

    assert answers() == ["I stop searching."] * 3
    gc.collect()  # what a loop that is over left open is reported here, and in no other test


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


@pytest.mark.parametrize(
    ("script", "stuck"),
    [
        ({"text": '{"stuck": true, "confidence": 0.9, "reason": "laps"}'}, True),
        ({"text": "I cannot say."}, None),
        ({"status": 500}, None),
        ({"status": 429}, None),
        ({"body": {"choices": []}}, None),
        ({"body": {"error": "busy"}}, None),
        ({"body": []}, None),
    ],
)
async def test_a_model_behind_http_judges_a_run(openai_server, script, stuck):
    pytest.importorskip("openai")
    options = {"base_url": openai_server.url, "api_key": "k", "max_retries": 0}
    provider = OpenAIProvider(json.dumps(script), client_options=options)
    asked = SecondOpinion(ModelJudge(provider), timeout=20)
    case = CaseFile("run", 3, 0.6)
    async with provider:
        given = [ask(asked, case), await aask(asked, case)]
    assert [opinion and opinion.stuck for opinion in given] == [stuck, stuck]
