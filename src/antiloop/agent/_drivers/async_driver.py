"""The async driver: carries out what the core loop asks for, on the running event loop.

The one module of a run that imports asyncio, apart from the loop behind async parts of sync runs.
"""

import asyncio
import inspect
import logging
from concurrent.futures import Future
from contextlib import closing
from typing import Any, AsyncGenerator, List, Sequence, Union

from ...types import ToolResult
from .._events import AgentEvent, TextDelta
from .._requests import (
    AskModel,
    CallUser,
    Emit,
    Question,
    Response,
    RunTools,
    Steps,
    StreamedReply,
    Tell,
    advance,
)
from .._tools.toolbox import Invocation, cancelled_result, timeout_result
from ..providers._protocol import ModelRequest, Provider
from .asking import acall
from .audience import Audience
from .event_loop import in_time
from .threads import Fatal, start_in_thread, unwrapped

logger = logging.getLogger(__name__)


async def adrive(
    loop: Steps[None], provider: Provider, observers: Sequence[Any], *, streaming: bool
) -> AsyncGenerator[AgentEvent, None]:
    """Carry out a run and yield its events; closing the generator closes everything.

    With ``streaming`` the model's text is asked for piece by piece, and the pieces are events too.
    """
    audience = Audience(observers)
    with closing(loop):
        request = advance(loop, Response())
        while request is not None:
            response = Response()
            if isinstance(request, Emit):
                yield request.event
            elif isinstance(request, AskModel) and streaming:
                pieces = _read_stream(provider, request)
                try:
                    async for piece in pieces:
                        if isinstance(piece, Response):
                            response = piece
                        else:
                            yield piece
                finally:
                    await pieces.aclose()
            else:
                response = await _carry_out(request, provider, audience)
            request = advance(loop, response)


async def _carry_out(request: Question, provider: Provider, audience: Audience) -> Response:
    if isinstance(request, AskModel):
        return await _ask(request.provider or provider, request.request)
    if isinstance(request, RunTools):
        return Response(await _run_tools(request.invocations))
    if isinstance(request, CallUser):
        asked = (request.function, request.argument, request.timeout_s, request.name)
        return Response(await acall(*asked))
    await _tell(audience, request)
    return Response()


async def _ask(provider: Provider, request: ModelRequest) -> Response:
    try:
        return Response(await provider.acomplete(request))
    except Exception as error:  # noqa: BLE001 - handed to the loop, which raises it
        return Response(error=error)


async def _read_stream(
    provider: Provider, question: AskModel
) -> AsyncGenerator[Union[TextDelta, Response], None]:
    """Yield the text as it arrives, and last how it went."""
    reply = StreamedReply(question)
    stream: Any = None
    try:
        stream = (question.provider or provider).astream(question.request)
        async for item in stream:
            for event in reply.take(item):
                yield event
            if reply.is_over:
                break
    except Exception as error:  # noqa: BLE001 - handed to the loop, which raises it
        reply.response = Response(error=error)
    finally:
        await _close(stream)
    yield reply.response


async def _close(stream: Any) -> None:
    """Close the model's stream; an async iterator may lack `aclose` if it is not a generator."""
    close = getattr(stream, "aclose", None)
    if close is None:
        return
    try:
        await close()
    except Exception:
        logger.exception("the model's stream could not be closed")


async def _tell(audience: Audience, request: Tell) -> None:
    for observer, method in audience.methods(request.hook):
        with audience.shielded(observer, request.hook, _is_run_cancelled):
            answer = method(*request.arguments)
            if inspect.isawaitable(answer):
                work = await in_time(answer, audience.limit_s)
                if work is None:
                    raise audience.hangs()
                if work.cancelled():  # from inside; the run was not
                    raise RuntimeError("it was cancelled")
                unwrapped(work.result())


def _is_run_cancelled() -> bool:
    """Whether someone has cancelled this task; before Python 3.11 it cannot tell, so it may be."""
    cancelling = getattr(asyncio.current_task(), "cancelling", None)
    return cancelling is None or cancelling() > 0


async def _run_tools(invocations: Sequence[Invocation]) -> List[ToolResult]:
    tasks = [asyncio.ensure_future(_run_in_time(invocation)) for invocation in invocations]
    try:
        # Not `asyncio.gather`: it cancels them, too, and a second cancellation would leave a tool
        # behind that is cleaning up after the first one.
        pending = set(tasks)
        while pending:
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                unwrapped(task.result())
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    return [unwrapped(task.result()) for task in tasks]


async def _run_in_time(invocation: Invocation) -> Union[ToolResult, Fatal]:
    """Run a call for no longer than it may take, and leave nothing running if that can be had."""
    work = await in_time(_run(invocation), invocation.timeout_s)
    name = invocation.call.tool_name
    if work is None:
        return timeout_result(name, invocation.timeout_s)
    result: Union[ToolResult, Fatal] = cancelled_result(name) if work.cancelled() else work.result()
    return result


async def _run(invocation: Invocation) -> ToolResult:
    if invocation.tool.is_async:
        return await invocation.arun()
    # A sync tool must not keep the event loop from everything else.
    future = start_in_thread(invocation.run)
    try:
        outcome = await asyncio.wrap_future(future)
    except asyncio.CancelledError:
        future.add_done_callback(_close_late)
        raise
    return await invocation.finish(outcome)


def _close_late(future: "Future[Any]") -> None:
    """Close the coroutine of a sync wrapper that came when the call was over."""
    if not future.cancelled() and future.exception() is None:
        getattr(future.result(), "close", bool)()
