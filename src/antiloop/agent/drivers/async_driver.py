"""The async driver: carries out what the core loop asks for, on the running event loop.

The one module of a run that imports asyncio, apart from the loop behind async parts of sync runs.
"""

import asyncio
import inspect
import logging
from contextlib import closing
from typing import Any, AsyncGenerator, List, Sequence, Union

from ...types import ToolResult
from ..events import AgentEvent, TextDelta
from ..providers.protocol import ModelRequest, Provider
from ..requests import AskJudge, AskModel, Emit, Outcome, Question, RunTools, Steps, Tell, advance
from ..tools.toolbox import Invocation, cancelled_result, timeout_result
from .asking import aask
from .cancellation import end_all
from .streamed_reply import StreamedReply
from .sync_driver import hooks, shielded
from .threads import start_in_thread

logger = logging.getLogger(__name__)


async def adrive(
    loop: Steps[None], provider: Provider, observers: Sequence[Any], *, streaming: bool
) -> AsyncGenerator[AgentEvent, None]:
    """Carry out a run and yield its events; closing the generator closes everything.

    With ``streaming`` the model's text is asked for piece by piece, and the pieces are events too.
    """
    with closing(loop):
        request = advance(loop, Outcome())
        while request is not None:
            outcome = Outcome()
            if isinstance(request, Emit):
                yield request.event
            elif isinstance(request, AskModel) and streaming:
                pieces = _read_stream(provider, request)
                try:
                    async for piece in pieces:
                        if isinstance(piece, Outcome):
                            outcome = piece
                        else:
                            yield piece
                finally:
                    await pieces.aclose()
            else:
                outcome = await _carry_out(request, provider, observers)
            request = advance(loop, outcome)


async def _carry_out(request: Question, provider: Provider, observers: Sequence[Any]) -> Outcome:
    if isinstance(request, AskModel):
        return await _ask(provider, request.request)
    if isinstance(request, RunTools):
        return Outcome(await _run_tools(request.invocations))
    if isinstance(request, AskJudge):
        return Outcome(await aask(request.options, request.case))
    await _tell(observers, request)
    return Outcome()


async def _ask(provider: Provider, request: ModelRequest) -> Outcome:
    try:
        return Outcome(await provider.acomplete(request))
    except Exception as error:  # noqa: BLE001 - handed to the loop, which raises it
        return Outcome(error=error)


async def _read_stream(
    provider: Provider, question: AskModel
) -> AsyncGenerator[Union[TextDelta, Outcome], None]:
    """Yield the text as it arrives, and last how it went."""
    reply = StreamedReply(question)
    stream: Any = None
    try:
        stream = provider.astream(question.request)
        async for item in stream:
            for event in reply.take(item):
                yield event
            if reply.is_over:
                break
    except Exception as error:  # noqa: BLE001 - handed to the loop, which raises it
        reply.outcome = Outcome(error=error)
    finally:
        await _close(stream)
    yield reply.outcome


async def _close(stream: Any) -> None:
    """Close the model's stream; an async iterator may lack `aclose` if it is not a generator."""
    close = getattr(stream, "aclose", None)
    if close is None:
        return
    try:
        await close()
    except Exception:
        logger.exception("the model's stream could not be closed")


async def _tell(observers: Sequence[Any], request: Tell) -> None:
    for observer, method in hooks(observers, request.hook):
        with shielded(observer, request.hook, _is_run_cancelled):
            answer = method(*request.arguments)
            if inspect.isawaitable(answer):
                await answer


def _is_run_cancelled() -> bool:
    """Whether someone has cancelled this task; before Python 3.11 it cannot tell, so it may be."""
    cancelling = getattr(asyncio.current_task(), "cancelling", None)
    return cancelling is None or cancelling() > 0


async def _run_tools(invocations: Sequence[Invocation]) -> List[ToolResult]:
    tasks = [asyncio.ensure_future(_run_in_time(invocation)) for invocation in invocations]
    try:
        # Not `asyncio.gather`: it cancels them, too, and a second cancellation would leave a tool
        # behind that is cleaning up after the first one.
        await asyncio.wait(tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    return [task.result() for task in tasks]


async def _run_in_time(invocation: Invocation) -> ToolResult:
    """Run a call for no longer than it may take, and leave nothing running if that can be had.

    Not `asyncio.wait_for`: before Python 3.12 it can swallow a cancellation that comes late.
    """
    work = asyncio.ensure_future(_run(invocation))
    in_time = False
    try:
        await asyncio.wait({work}, timeout=invocation.timeout_s)
        in_time = work.done()
    finally:
        await end_all([work])
    name = invocation.call.tool_name
    if not in_time:
        return timeout_result(name, invocation.timeout_s)
    return cancelled_result(name) if work.cancelled() else work.result()


async def _run(invocation: Invocation) -> ToolResult:
    if invocation.tool.is_async:
        return await invocation.arun()
    # A sync tool must not keep the event loop from everything else.
    outcome = await asyncio.wrap_future(start_in_thread(invocation.run))
    return await invocation.finish(outcome)
