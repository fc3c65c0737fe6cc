"""A model that fails in the middle of a run: the error keeps the run, so that it can continue."""

import asyncio

import pytest

from antiloop import Agent, RunStatus, ScriptedProvider, ToolCall
from antiloop.exceptions import ProviderError

CALL = ToolCall("search", {"query": "refunds"})


def search(query: str) -> str:
    """Search the handbook."""
    return "within 30 days"


async def events_of(agent):
    return [event async for event in agent.astream("Refunds?")]


@pytest.mark.parametrize(
    "run",
    [
        lambda agent: agent.run("Refunds?"),
        lambda agent: asyncio.run(agent.arun("Refunds?")),
        lambda agent: list(agent.stream("Refunds?")),
        lambda agent: asyncio.run(events_of(agent)),
    ],
    ids=["run", "arun", "stream", "astream"],
)
def test_the_error_keeps_the_run_and_another_run_continues_it(run):
    with pytest.raises(ProviderError) as raised:
        run(Agent([search], ScriptedProvider([CALL])))
    partial = raised.value.partial_result
    assert (partial.status, len(partial.tool_calls)) == (RunStatus.FAILED, 1)
    assert "asked for number 2" in partial.error
    again = Agent([search], ScriptedProvider([CALL, "30 days."])).run(partial.messages)
    assert (again.text, again.iterations) == ("30 days.", 1)
