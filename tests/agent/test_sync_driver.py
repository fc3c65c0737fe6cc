import asyncio
import contextvars
import functools
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass

import pytest

from antiloop import (
    Agent,
    AgentConfig,
    AgentObserver,
    AsyncAgentObserver,
    Message,
    Role,
    RunStatus,
    ScriptedProvider,
    ToolCall,
    ToolResult,
    tool,
)
from antiloop.agent._drivers.event_loop import BackgroundLoop
from antiloop.agent._drivers.sync_driver import drive
from antiloop.agent._drivers.threads import _run
from antiloop.exceptions import AgentError

LONG = 30
NOTE = contextvars.ContextVar("NOTE", default="")


def run(*calls, tools, **config):
    """Return the results of one round."""
    agent = Agent(tools, ScriptedProvider([list(calls), "Done."]), AgentConfig(**config))
    return agent.run("Go").tool_results


def no_event_loop_is_left():
    threads = [each for each in threading.enumerate() if each.name == "antiloop-loop"]
    for thread in threads:
        thread.join(5)
    return not any(thread.is_alive() for thread in threads)


def test_sync_calls_of_one_reply_run_at_the_same_time_and_answer_in_call_order():
    meet = threading.Barrier(3)

    def join(name: str) -> str:
        meet.wait(LONG)
        return name

    calls = [ToolCall("join", {"name": name}) for name in "abc"]
    assert [result.text for result in run(*calls, tools=[join])] == ["a", "b", "c"]


def test_async_calls_of_one_reply_run_at_the_same_time_in_a_sync_run():
    arrived = []

    async def join(name: str) -> str:
        arrived.append(name)
        while len(arrived) < 3:
            await asyncio.sleep(0)
        return name

    calls = [ToolCall("join", {"name": name}) for name in "abc"]
    assert [result.text for result in run(*calls, tools=[join])] == ["a", "b", "c"]
    assert no_event_loop_is_left()


def test_sync_and_async_calls_run_at_the_same_time():
    ready = threading.Event()

    def wait() -> str:
        return str(ready.wait(LONG))

    async def release() -> str:
        ready.set()
        return "released"

    results = run(ToolCall("wait"), ToolCall("release"), tools=[wait, release])
    assert [result.text for result in results] == ["True", "released"]


def test_calls_run_one_after_the_other_where_told_so():
    running = []

    def work(name: str) -> str:
        running.append(name)
        assert running == [name]
        running.remove(name)
        return name

    calls = [ToolCall("work", {"name": name}) for name in "abc"]
    results = run(*calls, tools=[work], parallel_tool_execution=False)
    assert [result.text for result in results] == ["a", "b", "c"]


def test_a_call_alone_stays_on_the_callers_thread():
    def where() -> bool:
        return threading.current_thread() is threading.main_thread()

    assert run(ToolCall("where"), tools=[where])[0].text == "true"


def test_tools_see_the_callers_context_variables():
    def note() -> str:
        return NOTE.get()

    async def later() -> str:
        return NOTE.get()

    token = NOTE.set("mine")
    try:
        results = run(ToolCall("note"), ToolCall("note"), ToolCall("later"), tools=[note, later])
    finally:
        NOTE.reset(token)
    assert [result.text for result in results] == ["mine"] * 3


def test_async_tools_and_observers_of_one_run_share_an_event_loop():
    loops = set()

    class Observer(AsyncAgentObserver):
        async def a_on_run_end(self, run_id, result):
            loops.add(asyncio.get_running_loop())

    async def which() -> str:
        loops.add(asyncio.get_running_loop())
        return "x"

    run(ToolCall("which"), ToolCall("which"), tools=[which], observers=[Observer()])
    assert len(loops) == 1
    assert loops.pop().is_closed()


async def test_an_async_tool_works_in_a_sync_run_inside_a_running_event_loop():
    async def later() -> str:
        await asyncio.sleep(0)
        return "done"

    assert run(ToolCall("later"), tools=[later])[0].text == "done"


def test_an_async_function_in_a_sync_wrapper_is_awaited():
    async def later() -> str:
        await asyncio.sleep(0)
        return "done"

    @functools.wraps(later)
    def wrapper():
        return later()

    both = run(ToolCall("later"), ToolCall("later"), tools=[wrapper])
    alone = run(ToolCall("later"), tools=[wrapper])
    assert {result.text for result in both + alone} == {"done"}


@pytest.mark.parametrize("others", [[], ["quick"]])
def test_a_coroutine_that_comes_after_the_end_of_the_run_begins_no_event_loop(others):
    may_return, has_begun = threading.Event(), []

    async def work():
        has_begun.append(True)

    def late():
        may_return.wait(LONG)
        return work()

    async def quick():
        return "q"

    # Tools of other tests may hang for longer than this one.
    before = set(threading.enumerate())
    calls = [ToolCall(name) for name in ["late", *others]]
    results = run(*calls, tools=[tool(late, timeout_s=0.01), quick])
    assert results[0].text == "Tool 'late' timed out after 0.01 s."
    threads = [each for each in threading.enumerate() if each.name == "antiloop-tool"]
    may_return.set()
    for thread in set(threads) - before:
        thread.join(LONG)
    assert no_event_loop_is_left()
    assert not has_begun


def test_what_a_tool_raises_becomes_its_result():
    def crash() -> str:
        raise StopIteration("over")

    async def later() -> str:
        raise KeyError("city")

    first = ToolResult("Tool 'crash' failed: StopIteration: over", is_error=True)
    second = ToolResult("Tool 'later' failed: KeyError: 'city'", is_error=True)
    tools = [crash, later]
    assert run(ToolCall("crash"), tools=tools) == (first,)
    assert run(ToolCall("later"), tools=tools) == (second,)
    assert run(ToolCall("crash"), ToolCall("later"), tools=tools) == (first, second)


def test_an_exception_without_words_is_told_by_its_name():
    def crash() -> str:
        raise ValueError

    assert run(ToolCall("crash"), tools=[crash])[0].text == "Tool 'crash' failed: ValueError"


class Speechless(Exception):
    """An error whose text cannot be made."""

    def __str__(self):
        return self.detail


@dataclass
class Refusing:
    city: str

    def __post_init__(self):
        raise Speechless


@pytest.mark.parametrize("size", [1, 2])
def test_an_exception_that_cannot_say_what_is_wrong_is_told_by_its_name(size):
    def crash() -> str:
        raise Speechless

    def refuse(place: Refusing) -> str:
        raise AssertionError

    for call, text in (
        (ToolCall("crash"), "Tool 'crash' failed: Speechless"),
        (
            ToolCall("refuse", {"place": {"city": "Rome"}}),
            "Invalid arguments for tool 'refuse': arguments.place: Speechless",
        ),
    ):
        results = run(*[call] * size, tools=[crash, refuse])
        assert results == (ToolResult(text, is_error=True),) * size


def test_a_provider_that_cannot_say_what_is_wrong_ends_the_run_with_its_own_error():
    class Broken(ScriptedProvider):
        def complete(self, request):
            raise Speechless

    class Listener(AgentObserver):
        def on_run_end(self, run_id, result):
            ended.append((result.status, result.error))

    ended = []
    with pytest.raises(Speechless):
        Agent([], Broken(["Done."]), AgentConfig(observers=[Listener()])).run("Go")
    assert ended == [(RunStatus.FAILED, "Speechless")]


def test_the_model_learns_that_its_arguments_are_a_list():
    def look(city: str) -> str:
        raise AssertionError

    text = "Invalid arguments for tool 'look': expected a JSON object, got list"
    assert run(ToolCall("look", ["Rome"]), tools=[look]) == (ToolResult(text, is_error=True),)


@pytest.mark.parametrize("size", [1, 2])
def test_a_sync_tool_whose_own_event_loop_is_cancelled_has_failed(size):
    def ask_server() -> str:
        raise asyncio.CancelledError

    results = run(*[ToolCall("ask_server")] * size, tools=[ask_server])
    assert results == (ToolResult("Tool 'ask_server' was cancelled.", is_error=True),) * size


def test_an_async_tool_that_cancels_itself_has_failed():
    async def quit_it() -> str:
        raise asyncio.CancelledError

    def wrapper():
        return quit_it()

    tools = [quit_it, tool(name="wrapped")(wrapper)]
    assert run(ToolCall("quit_it"), tools=tools)[0] == ToolResult(
        "Tool 'quit_it' was cancelled.", is_error=True
    )
    assert run(ToolCall("wrapped"), tools=tools)[0].text == "Tool 'wrapped' was cancelled."


@pytest.mark.parametrize("size", [1, 2])
def test_a_tool_that_takes_too_long_has_failed(size):
    release = threading.Event()

    @tool(timeout_s=0.02)
    def hang() -> str:
        release.wait(LONG)
        return "too late"

    try:
        results = run(*[ToolCall("hang")] * size, tools=[hang], tool_timeout_s=LONG)
    finally:
        release.set()
    assert set(results) == {ToolResult("Tool 'hang' timed out after 0.02 s.", is_error=True)}


def test_an_async_tool_that_takes_too_long_is_cancelled():
    ended = []

    async def hang() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    [result] = run(ToolCall("hang"), tools=[hang], tool_timeout_s=0.02)
    assert result.text == "Tool 'hang' timed out after 0.02 s."
    assert ended == [True]


@pytest.mark.parametrize("is_wrapped", [False, True])
def test_an_async_tool_that_takes_too_long_is_cancelled_while_the_run_goes_on(is_wrapped):
    ended = threading.Event()

    async def hang() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    @functools.wraps(hang)
    def wrapper():
        return hang()

    script = [ToolCall("hang"), lambda _: str(ended.wait(LONG))]
    tools = [wrapper if is_wrapped else hang]
    agent = Agent(tools, ScriptedProvider(script), AgentConfig(tool_timeout_s=0.02))
    assert agent.run("Go").text == "True"


@pytest.mark.parametrize("limit", [None, LONG])
def test_each_call_has_its_own_limit_however_long_its_neighbours_take(limit):
    short_is_over = threading.Event()

    @tool(timeout_s=limit)
    def slow() -> str:
        """Outlast the limit of the other."""
        short_is_over.wait(LONG)
        return "slow"

    @tool(timeout_s=0.02)
    def short() -> str:
        # It would be in time for whoever looked at it only after `slow`.
        time.sleep(0.4)
        short_is_over.set()
        return "too late"

    results = run(ToolCall("slow"), ToolCall("short"), tools=[slow, short])
    assert [result.text for result in results] == ["slow", "Tool 'short' timed out after 0.02 s."]


def test_a_tool_in_time_is_unharmed_by_its_limit():
    assert run(ToolCall("now"), tools=[tool(timeout_s=LONG)(now)])[0].text == "12:00"


def test_a_tool_may_take_a_part_of_its_limit():
    started = []

    @tool(timeout_s=LONG)
    def slow() -> str:
        started.append(threading.Event().wait(0.05))
        return "late but in time"

    assert run(ToolCall("slow"), tools=[slow])[0].text == "late but in time"
    assert started == [False]


def now() -> str:
    return "12:00"


def test_an_interruption_while_calls_run_cancels_them_and_leaves_nothing():
    cancelled = threading.Event()
    release = threading.Event()

    async def hang() -> str:
        try:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    def stuck() -> str:
        release.wait(LONG)
        return "late"

    agent = Agent([hang, stuck], ScriptedProvider([[ToolCall("hang"), ToolCall("stuck")]]))
    try:
        with pytest.raises(KeyboardInterrupt):
            agent.run("Go")
        assert cancelled.is_set()
    finally:
        release.set()


@pytest.mark.parametrize("size", [1, 2])
def test_a_tool_that_ends_the_program_is_obeyed(size):
    def leave() -> str:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        run(*[ToolCall("leave")] * size, tools=[leave])


def test_an_interruption_while_the_model_is_asked_leaves_nothing():
    def interrupt(request):
        raise KeyboardInterrupt

    async def later() -> str:
        return "x"

    with pytest.raises(KeyboardInterrupt):
        Agent([later], ScriptedProvider([ToolCall("later"), interrupt])).run("Go")
    assert no_event_loop_is_left()


HANGING = """
import asyncio, threading
from antiloop import Agent, AgentConfig, ScriptedProvider, ToolCall
def hang():
    threading.Event().wait()
config = AgentConfig(tool_timeout_s=0.02)
agent = Agent([hang], ScriptedProvider([ToolCall("hang"), "Done."]), config)
print(agent.run("Go").text, asyncio.run(agent.arun("Go")).text)
"""


def test_a_tool_that_hangs_forever_does_not_keep_the_program_from_ending():
    done = subprocess.run(
        [sys.executable, "-c", HANGING], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("Done. Done.", "")


def test_a_function_cancelled_before_its_thread_began_is_not_run():
    future, ran = Future(), []
    future.cancel()
    _run(lambda: ran.append(True), future)
    assert ran == []


def test_closing_the_events_early_closes_the_loop_and_the_background():
    async def later() -> str:
        return "x"

    agent = Agent([later], ScriptedProvider([ToolCall("later"), "Done."]))
    loop = agent._loop("Go", None)
    events = drive(loop, agent._provider, ())
    for event in events:
        if type(event).__name__ == "ToolFinished":
            break
    events.close()
    assert no_event_loop_is_left()
    with pytest.raises(StopIteration):
        next(loop)


def test_an_event_loop_that_cannot_start_says_why(monkeypatch):
    def fail():
        raise OSError("no more files")

    monkeypatch.setattr(asyncio, "run", lambda main: (main.close(), fail()))
    with pytest.raises(OSError, match="no more files"):
        BackgroundLoop()


def test_a_conversation_can_be_gone_on_with():
    script = ["First.", lambda request: f"I see {len(request.messages)} messages."]
    agent = Agent([], ScriptedProvider(script), AgentConfig(system_prompt="Be brief."))
    first = agent.run("Hello")
    again = agent.run([*first.messages, Message(Role.USER, "And now?")])
    assert again.text == "I see 4 messages."
    assert [message.role for message in again.messages].count(Role.SYSTEM) == 1


def test_a_conversation_may_be_empty():
    assert Agent([], ScriptedProvider(["Hi."])).run([]).text == "Hi."


def test_a_run_without_a_result_is_an_error():
    from antiloop.agent._agent import _result

    with pytest.raises(AgentError, match="ended without a result"):
        _result(None)
