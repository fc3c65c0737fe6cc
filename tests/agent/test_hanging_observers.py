"""Observers that never come to an end, in every way to run an agent."""

import asyncio
import contextlib
import threading
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antiloop import (
    Agent,
    AgentConfig,
    AgentObserver,
    AsyncAgentObserver,
    RunStatus,
    ScriptedProvider,
    ToolCall,
)
from antiloop.agent._drivers import event_loop
from antiloop.agent._drivers.audience import Audience

HOOKS = sorted(name for name in vars(AsyncAgentObserver) if name.startswith("a_on_"))


async def waits():
    await asyncio.Event().wait()


async def swallows_its_cancellation():
    while True:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(3600)


async def waits_for_what_does():
    await asyncio.shield(asyncio.ensure_future(waits()))


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    monkeypatch.setattr(Audience, "limit_s", Audience.limit_s)  # as it was, after the test
    monkeypatch.setattr(event_loop, "GRACE_S", 0.02)


class Hearer(AsyncAgentObserver):
    """Hears everything; from the named event it does not come back."""

    def __init__(self, hook="", hangs=waits):
        self.hook, self.hangs, self.heard = hook, hangs, []


def _limiting(name):
    def limit(self, *arguments):
        # A machine that is slow must not keep those from being heard who do come back.
        Audience.limit_s = 0.02 if self.hook == name else 60.0

    return limit


def _hearing(name):
    async def hear(self, *arguments):
        self.heard.append(name)
        if self.hook == name:
            await self.hangs()

    return hear


for _name in HOOKS:
    setattr(Hearer, _name[len("a_") :], _limiting(_name))  # it comes before the async method
    setattr(Hearer, _name, _hearing(_name))


def look():
    return "x"


def agent(*observers):
    script = [ToolCall("look"), ToolCall("look"), "Done."]
    return Agent([look], ScriptedProvider(script), AgentConfig(observers=observers))


async def _all_of(events):
    return [event async for event in events]


def run(made):
    return made.run("Go")


def arun(made):
    return asyncio.run(made.arun("Go"))


def stream(made):
    return list(made.stream("Go"))[-1].result


def astream(made):
    return asyncio.run(_all_of(made.astream("Go")))[-1].result


WAYS = [run, arun, stream, astream]
HANGS = [waits, swallows_its_cancellation, waits_for_what_does]


@pytest.mark.parametrize("hangs", HANGS)
@pytest.mark.parametrize("way", WAYS)
def test_an_observer_that_hangs_is_ended_once_and_told_no_more(way, hangs, caplog):
    hanging, other = Hearer("a_on_model_end", hangs), Hearer()
    result = way(agent(hanging, other))
    assert (result.status, result.text) == (RunStatus.COMPLETED, "Done.")
    assert hanging.heard[-1] == "a_on_model_end"
    assert other.heard[-1] == "a_on_run_end"
    assert other.heard.count("a_on_model_end") == 3
    assert caplog.text.count("observer Hearer failed in on_model_end") == 1
    assert "no end after 0.02 s; nothing more of this run is reported to it" in caplog.text


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(WAYS), st.sampled_from(HOOKS), st.integers(1, 3))
def test_wherever_observers_hang_the_run_gives_what_it_gives_without_them(way, hook, many):
    expected, got = way(agent()), way(agent(*(Hearer(hook) for _ in range(many))))
    assert (got.status, got.text) == (expected.status, expected.text)
    assert [result.text for result in got.tool_results] == ["x", "x"]


@pytest.mark.parametrize("way", WAYS)
def test_the_next_run_tells_it_again(way):
    hanging = Hearer("a_on_model_end")
    for made in (agent(hanging), agent(hanging)):
        way(made)
    assert hanging.heard.count("a_on_run_start") == 2


async def test_a_run_that_is_cancelled_meanwhile_ends_at_once():
    hanging = Hearer("a_on_run_start")
    hanging.on_run_start = lambda run_id: None  # the limit stays
    running = asyncio.ensure_future(agent(hanging).arun("Go"))
    while not hanging.heard:
        await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize("way", WAYS)
def test_a_sync_observer_takes_as_long_as_it_takes_and_the_run_goes_on_after_it(way):
    class Slow(AgentObserver):
        threads, ended = set(), 0

        def on_model_end(self, *arguments):
            self.threads.add(threading.get_ident())
            time.sleep(0.02)

        def on_run_end(self, *arguments):
            self.ended += 1

    slow, Audience.limit_s = Slow(), 0.01
    assert way(agent(slow)).text == "Done."
    assert (slow.threads, slow.ended) == ({threading.get_ident()}, 1)
