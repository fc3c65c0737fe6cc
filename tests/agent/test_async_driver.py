import asyncio
import functools
import inspect
import logging
import threading

import pytest

from antiloop import Agent, AgentConfig, RunStatus, ScriptedProvider, ToolCall, ToolResult, tool
from antiloop.agent import ModelReply, RunFinished, RunStarted, TextDelta, ToolFinished, ToolStarted
from antiloop.exceptions import ProviderError

LONG = 30


async def run(*calls, tools, **config):
    """Return the results of one round."""
    agent = Agent(tools, ScriptedProvider([list(calls), "Done."]), AgentConfig(**config))
    return (await agent.arun("Go")).tool_results


async def cycles():
    """Take some cycles of the event loop, as closing a connection would."""
    for _ in range(10):
        await asyncio.sleep(0)


def only_this_task():
    return asyncio.all_tasks() == {asyncio.current_task()}


class StreamingProvider(ScriptedProvider):
    """A provider that notes whether its stream was closed."""

    closing = closed = 0

    async def astream(self, request):
        try:
            for item in self.stream(request):
                yield item
        finally:
            self.closing += 1
            await asyncio.sleep(0)
            self.closed += 1


async def test_async_calls_of_one_reply_run_at_the_same_time_and_answer_in_call_order():
    arrived = []

    async def join(name: str) -> str:
        arrived.append(name)
        while len(arrived) < 3:
            await asyncio.sleep(0)
        return name

    calls = [ToolCall("join", {"name": name}) for name in "abc"]
    assert [result.text for result in await run(*calls, tools=[join])] == ["a", "b", "c"]
    assert only_this_task()


async def test_sync_calls_run_at_the_same_time_and_answer_in_call_order():
    meet = threading.Barrier(3)

    def join(name: str) -> str:
        meet.wait(LONG)
        return name

    calls = [ToolCall("join", {"name": name}) for name in "abc"]
    assert [result.text for result in await run(*calls, tools=[join])] == ["a", "b", "c"]


async def test_a_sync_tool_does_not_block_the_event_loop():
    released = threading.Event()

    def wait() -> str:
        return str(released.wait(LONG))

    async def release():
        released.set()

    # The tool ends only if the loop runs the other task meanwhile.
    results, _ = await asyncio.gather(run(ToolCall("wait"), tools=[wait]), release())
    assert results[0].text == "True"


async def test_calls_run_one_after_the_other_where_told_so():
    running = []

    async def work(name: str) -> str:
        running.append(name)
        await asyncio.sleep(0)
        assert running == [name]
        running.remove(name)
        return name

    calls = [ToolCall("work", {"name": name}) for name in "abc"]
    results = await run(*calls, tools=[work], parallel_tool_execution=False)
    assert [result.text for result in results] == ["a", "b", "c"]


async def test_an_async_function_in_a_sync_wrapper_is_awaited():
    async def later() -> str:
        await asyncio.sleep(0)
        return "done"

    @functools.wraps(later)
    def wrapper():
        return later()

    assert (await run(ToolCall("later"), tools=[wrapper]))[0].text == "done"


async def test_what_a_tool_raises_becomes_its_result():
    def crash() -> str:
        raise StopIteration("over")

    async def later() -> str:
        raise KeyError("city")

    results = await run(ToolCall("crash"), ToolCall("later"), tools=[crash, later])
    assert results == (
        ToolResult("Tool 'crash' failed: StopIteration: over", is_error=True),
        ToolResult("Tool 'later' failed: KeyError: 'city'", is_error=True),
    )


async def test_an_async_tool_that_cancels_itself_has_failed():
    async def quit_it() -> str:
        raise asyncio.CancelledError

    [result] = await run(ToolCall("quit_it"), tools=[quit_it])
    assert result == ToolResult("Tool 'quit_it' was cancelled.", is_error=True)


async def test_a_coroutine_that_comes_when_its_call_is_over_is_closed():
    may_return, made = threading.Event(), []

    async def work():
        made.append("ran")

    def late():
        may_return.wait(LONG)
        made.append(work())
        return made[0]

    before = set(threading.enumerate())
    agent = Agent([tool(late, timeout_s=0.01)], ScriptedProvider([ToolCall("late"), "Done."]))
    (result,) = (await agent.arun("Go")).tool_results
    assert result.text == "Tool 'late' timed out after 0.01 s."
    may_return.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(LONG)
    assert list(map(inspect.getcoroutinestate, made)) == [inspect.CORO_CLOSED]


async def test_tools_that_take_too_long_have_failed_each_by_its_own_limit():
    release = threading.Event()
    ended = []

    @tool(timeout_s=0.02)
    def hang() -> str:
        release.wait(LONG)
        return "too late"

    async def hang_later() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            await cycles()
            ended.append(True)

    try:
        results = await run(
            ToolCall("hang"), ToolCall("hang_later"), tools=[hang, hang_later], tool_timeout_s=0.03
        )
    finally:
        release.set()
    assert [result.text for result in results] == [
        "Tool 'hang' timed out after 0.02 s.",
        "Tool 'hang_later' timed out after 0.03 s.",
    ]
    assert ended == [True]
    assert only_this_task()


async def test_cancelling_a_run_cancels_its_tools_and_waits_for_them():
    running, steps = asyncio.Event(), []

    async def hang(name: str) -> str:
        running.set()
        try:
            await asyncio.Event().wait()
        finally:
            await cycles()
            steps.append(f"{name} ended")

    calls = [ToolCall("hang", {"name": name}) for name in "ab"]
    task = asyncio.ensure_future(run(*calls, tools=[hang]))
    await running.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sorted(steps) == ["a ended", "b ended"]
    assert only_this_task()


async def test_cancelling_a_run_does_not_wait_for_a_sync_tool():
    loop, running, release = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    def hang() -> str:
        loop.call_soon_threadsafe(running.set)
        release.wait(LONG)
        return "too late"

    task = asyncio.ensure_future(run(ToolCall("hang"), tools=[hang]))
    await running.wait()
    task.cancel()
    try:
        with pytest.raises(asyncio.CancelledError):
            await task
    finally:
        release.set()
    assert only_this_task()


async def test_cancelling_a_run_while_the_model_is_asked_closes_it():
    asked = asyncio.Event()

    class Slow(ScriptedProvider):
        async def acomplete(self, request):
            asked.set()
            await asyncio.Event().wait()

    task = asyncio.ensure_future(Agent([], Slow(["x"])).arun("Go"))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert only_this_task()


async def test_cancelling_a_stream_while_the_model_speaks_closes_the_models_stream():
    speaking, closed = asyncio.Event(), []

    class Slow(ScriptedProvider):
        async def astream(self, request):
            try:
                yield "One "
                speaking.set()
                await asyncio.Event().wait()
            finally:
                closed.append(True)

    async def read():
        async for _ in Agent([], Slow(["x"])).astream("Go"):
            pass

    task = asyncio.ensure_future(read())
    await speaking.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert closed == [True]
    assert only_this_task()


async def test_the_stream_tells_what_happens_as_it_happens():
    def look() -> str:
        return "x"

    provider = ScriptedProvider([ModelReply("Let me look.", (ToolCall("look"),)), "All done."])
    events = [event async for event in Agent([look], provider).astream("Go")]
    assert isinstance(events[0], RunStarted)
    deltas = [event.text for event in events if isinstance(event, TextDelta)]
    assert deltas == ["Let ", "me ", "look.", "All ", "done."]
    kinds = [type(event) for event in events]
    assert kinds.index(ToolStarted) < kinds.index(ToolFinished)
    assert isinstance(events[-1], RunFinished)
    assert events[-1].result.status is RunStatus.COMPLETED


@pytest.mark.parametrize("kind", [RunStarted, TextDelta, ToolStarted, ToolFinished])
async def test_leaving_the_stream_early_closes_everything(kind):
    def look() -> str:
        return "x"

    provider = StreamingProvider([ModelReply("Let me look.", (ToolCall("look"),)), "Done."])
    events = Agent([look], provider).astream("Go")
    async for event in events:
        if isinstance(event, kind):
            break
    await events.aclose()
    assert provider.closed == (0 if kind is RunStarted else 1)
    assert only_this_task()
    with pytest.raises(StopAsyncIteration):
        await events.__anext__()


def test_leaving_the_stream_without_closing_it_closes_everything_with_the_event_loop():
    provider = StreamingProvider(["One two three."])

    async def leave():
        async for event in Agent([], provider).astream("Go"):
            if isinstance(event, TextDelta):
                return

    asyncio.run(leave())
    # The event loop was ending already, so it cancels what closing still has to wait for.
    assert provider.closing == 1


async def test_a_stream_that_is_never_read_leaves_nothing():
    events = Agent([], ScriptedProvider(["x"])).astream("Go")
    await events.aclose()
    assert only_this_task()


async def test_reading_to_the_end_closes_the_models_stream():
    provider = StreamingProvider(["One.", "Two."])
    assert [event async for event in Agent([], provider).astream("Go")]
    assert provider.closed == 1


class PlainIterator:
    """An async iterator that is no generator: it has no `aclose`."""

    def __init__(self, items):
        self._items = iter(items)

    def __aiter__(self):
        return self

    async def __anext__(self):
        try:
            return next(self._items)
        except StopIteration:
            raise StopAsyncIteration from None


async def stream_of(items):
    class Provider(ScriptedProvider):
        def astream(self, request):
            return items

    return [event async for event in Agent([], Provider(["x"])).astream("Go")]


async def test_a_models_stream_need_not_be_a_generator():
    events = await stream_of(PlainIterator(["Hi", ModelReply("Hi")]))
    assert events[-1].result.text == "Hi"


async def test_a_models_stream_without_a_reply_is_an_error():
    with pytest.raises(ProviderError, match="not a ModelReply"):
        await stream_of(PlainIterator(["Hi"]))


async def test_a_models_stream_that_breaks_is_told_and_goes_on():
    class Breaking(StreamingProvider):
        async def astream(self, request):
            async for item in super().astream(request):
                yield item
                raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        [event async for event in Agent([], Breaking(["One."])).astream("Go")]
    assert only_this_task()


async def test_a_models_stream_that_cannot_be_closed_is_logged(caplog):
    class Stubborn(PlainIterator):
        async def aclose(self):
            raise OSError("stubborn")

    events = await stream_of(Stubborn(["Hi", ModelReply("Hi")]))
    assert events[-1].result.text == "Hi"
    assert "the model's stream could not be closed" in caplog.text
    assert caplog.records[-1].levelno == logging.ERROR


async def test_many_runs_of_one_agent_at_once_do_not_disturb_each_other():
    async def echo(text: str) -> str:
        await asyncio.sleep(0)
        return text

    def answer(request):
        return f"You said {request.messages[0].content}."

    agent = Agent([echo], ScriptedProvider([ToolCall("echo", {"text": "x"}), answer]))
    results = await asyncio.gather(*(agent.arun(str(number)) for number in range(20)))
    assert [result.text for result in results] == [f"You said {n}." for n in range(20)]
    assert len({result.run_id for result in results}) == 20
