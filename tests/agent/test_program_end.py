"""Exceptions that end the program, such as SystemExit, end a run as they are."""

import asyncio
import gc

import pytest

from antiloop import Agent, AsyncAgentObserver, LoopDetector, ScriptedProvider, ToolCall
from antiloop.agent import AgentConfig
from antiloop.loop_detection import SecondOpinion

ENDS = [KeyboardInterrupt, SystemExit]
WAYS = {
    "run": lambda agent: agent.run("go"),
    "arun": lambda agent: asyncio.run(agent.arun("go")),
    "stream": lambda agent: list(agent.stream("go")),
}


def tools_that(end, is_async):
    """Return a tool that ends the program, and one that would take an hour."""
    if is_async:

        async def ends():
            await asyncio.sleep(0)
            raise end

        async def waits():
            await asyncio.sleep(3600)

        return ends, waits

    def ends():
        raise end

    async def waits():
        await asyncio.sleep(3600)

    return ends, waits


def both(order):
    return ScriptedProvider([[ToolCall(name, id=name) for name in order], "done"])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("is_async", [True, False])
@pytest.mark.parametrize("order", [("ends", "waits"), ("waits", "ends")])
def test_one_of_two_parallel_tools_ends_the_program(way, end, is_async, order, caplog):
    with pytest.raises(end):
        WAYS[way](Agent(tools_that(end, is_async), both(order)))
    gc.collect()
    assert "never retrieved" not in caplog.text


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("end", ENDS)
def test_an_async_observer_ends_the_program(way, end):
    class Ends(AsyncAgentObserver):
        async def a_on_run_start(self, run_id):
            raise end

    agent = Agent([], ScriptedProvider(["done"]), AgentConfig(observers=[Ends()]))
    with pytest.raises(end):
        WAYS[way](agent)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("end", ENDS)
def test_a_judge_that_ends_the_program_leaves_no_error_behind(way, end, caplog):
    def search(query: str) -> str:
        return "No results found."

    def judge(case):
        raise end

    script = ScriptedProvider([ToolCall("search", {"query": f"w{n}"}) for n in range(12)])
    detector = LoopDetector.escalating(second_opinion=SecondOpinion(judge, suspicion=0.2))
    with pytest.raises(end):
        WAYS[way](Agent([search], script, AgentConfig(loop_detector=detector)))
    gc.collect()
    assert "never retrieved" not in caplog.text
