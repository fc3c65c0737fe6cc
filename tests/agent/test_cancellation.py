"""Async tools that do not end when they are cancelled."""

import asyncio
import contextlib
import gc
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import Agent, AgentConfig, RunStatus, ScriptedProvider, ToolCall
from antiloop.agent._drivers import event_loop


async def swallows_once():
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        await asyncio.sleep(3600)


async def swallows_for_ever():
    while True:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(3600)


async def cleans_up_for_ever():
    try:
        await asyncio.sleep(3600)
    finally:
        await asyncio.sleep(3600)


async def waits_for_a_task_that_swallows():
    await asyncio.shield(asyncio.ensure_future(swallows_for_ever()))


async def answers_late():
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        return "late"


async def raises_at_the_end():
    try:
        await swallows_for_ever()
    finally:
        raise KeyError("the end")


STUBBORN = [
    swallows_once,
    swallows_for_ever,
    cleans_up_for_ever,
    waits_for_a_task_that_swallows,
    answers_late,
    raises_at_the_end,
]


@pytest.fixture
def _short(monkeypatch):
    monkeypatch.setattr(event_loop, "GRACE_S", 0.02)
    monkeypatch.setattr(event_loop, "_CLOSING_S", 20.0)


@pytest.fixture
def _quiet(caplog):
    """Nothing complains that a task was lost."""
    yield
    gc.collect()
    said = [entry.getMessage() for entry in caplog.records if entry.name == "asyncio"]
    assert said == []


def agent_with(stubborn):
    script = [ToolCall(stubborn.__name__), "Done."]
    return Agent([stubborn], ScriptedProvider(script), AgentConfig(tool_timeout_s=0.02))


def assert_timed_out(result, stubborn):
    assert result.status is RunStatus.COMPLETED
    name = stubborn.__name__
    assert [r.text for r in result.tool_results] == [f"Tool {name!r} timed out after 0.02 s."]


@pytest.mark.usefixtures("_short", "_quiet")
@pytest.mark.parametrize("stubborn", STUBBORN)
def test_a_run_ends_though_a_tool_does_not(stubborn):
    assert_timed_out(agent_with(stubborn).run("Go"), stubborn)


@pytest.mark.usefixtures("_short", "_quiet")
@pytest.mark.parametrize(
    "stubborn", [each for each in STUBBORN if each is not waits_for_a_task_that_swallows]
)
async def test_an_async_run_ends_though_a_tool_does_not(stubborn):
    result = await asyncio.wait_for(agent_with(stubborn).arun("Go"), 20)
    assert_timed_out(result, stubborn)
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.usefixtures("_short", "_quiet")
async def test_a_run_that_is_cancelled_ends_though_a_tool_does_not():
    agent = Agent([swallows_for_ever], ScriptedProvider([ToolCall("swallows_for_ever"), "Done."]))
    run = asyncio.ensure_future(agent.arun("Go"))
    await asyncio.wait({run}, timeout=0.05)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(run, 20)
    assert asyncio.all_tasks() == {asyncio.current_task()}


@given(pauses_of=st.lists(st.sampled_from([0, 20]), min_size=1, max_size=4), at=st.integers(1, 12))
def test_parallel_tools_clean_up_before_a_cancelled_run_ends(pauses_of, at):
    begun, cleaned_up = [], []

    async def works(tool: int, pauses: int) -> None:
        begun.append(tool)
        try:
            await asyncio.sleep(3600)
        finally:
            for _ in range(pauses):
                await asyncio.sleep(0)
            cleaned_up.append(tool)

    async def cancelled_run():
        calls = [ToolCall("works", {"tool": n, "pauses": p}) for n, p in enumerate(pauses_of)]
        run = asyncio.ensure_future(Agent([works], ScriptedProvider([calls])).arun("Go"))
        for _ in range(at):
            await asyncio.sleep(0)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(cancelled_run())
    assert sorted(cleaned_up) == begun


@pytest.mark.usefixtures("_short")
async def test_a_task_that_cannot_be_ended_is_named_and_left_behind(caplog):
    released = asyncio.Event()

    async def holds_on():
        while not released.is_set():
            with contextlib.suppress(BaseException):
                await released.wait()

    task = asyncio.ensure_future(holds_on())
    await asyncio.sleep(0)
    await event_loop.end_all([task])
    assert not task.done()
    assert "raised when it was closed" in caplog.text
    assert "goes on in the background" in caplog.text
    released.set()
    await task


def test_a_tool_that_blocks_its_event_loop_does_not_hold_up_the_end(monkeypatch, caplog):
    released = threading.Event()
    monkeypatch.setattr(event_loop, "_CLOSING_S", 0.02)

    async def blocks():
        released.wait()

    result = agent_with(blocks).run("Go")
    assert_timed_out(result, blocks)
    assert "cannot be cancelled" in caplog.text
    released.set()


LEAVING = """
import asyncio
import logging
from antiloop import Agent, AgentConfig, ScriptedProvider, ToolCall

async def swallows():
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            pass

logging.getLogger("asyncio").setLevel("ERROR")  # a slow machine gets warnings
agent = Agent([swallows], ScriptedProvider([ToolCall("swallows"), "Done."]),
              AgentConfig(tool_timeout_s=0.02))
print(agent.run("Go").text, asyncio.run(agent.arun("Go")).text)
"""


def test_a_process_ends_quietly_after_a_tool_that_swallows_its_cancellation():
    ended = subprocess.run(
        [sys.executable, "-X", "dev", "-c", LEAVING],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ended.stdout, ended.stderr) == ("Done. Done.\n", "")
