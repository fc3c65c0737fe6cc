"""The sync driver: carries out what the core loop asks for, on threads where calls are parallel.

No asyncio here: the event loop for async tools and observers is started when the first one comes.
"""

import inspect
import logging
import math
import time
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing
from typing import Any, Awaitable, Generator, List, Optional, Sequence, Set

from ..._process_lock import ProcessLock
from ...types import ToolResult
from .._events import AgentEvent
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
from ..providers._protocol import Provider
from .asking import call
from .audience import Audience
from .threads import start_in_thread, unwrapped

logger = logging.getLogger(__name__)

# One long wait could not be interrupted everywhere: on Windows Ctrl-C does not end it.
_SLICE_S = 0.5


def drive(
    loop: Steps[None], provider: Provider, observers: Sequence[Any], *, streaming: bool = False
) -> Generator[AgentEvent, None, None]:
    """Carry out a run and yield its events; closing the iterator closes everything.

    With ``streaming`` the model's text is asked for piece by piece, and the pieces are events too.
    """
    with closing(loop), closing(_Worker(provider, observers)) as worker:
        request = advance(loop, Response())
        while request is not None:
            response = Response()
            if isinstance(request, Emit):
                yield request.event
            elif isinstance(request, AskModel) and streaming:
                response = yield from _read_stream(provider, request)
            else:
                response = worker.carry_out(request)
            request = advance(loop, response)


def _read_stream(provider: Provider, question: AskModel) -> Generator[AgentEvent, None, Response]:
    """Yield the text as it arrives, and return how it went."""
    reply = StreamedReply(question)
    stream: Any = None
    try:
        stream = (question.provider or provider).stream(question.request)
        for item in stream:
            yield from reply.take(item)
            if reply.is_over:
                break
    except Exception as error:  # noqa: BLE001 - handed to the loop, which raises it
        reply.response = Response(error=error)
    finally:
        _close(stream)
    return reply.response


def _close(stream: Any) -> None:
    """Close the model's stream; an iterator may lack `close` if it is not a generator."""
    try:
        getattr(stream, "close", bool)()
    except Exception:
        logger.exception("the model's stream could not be closed")


class _Worker:
    """The outside world of one sync run: the model, the observers, threads."""

    def __init__(self, provider: Provider, observers: Sequence[Any]) -> None:
        self._provider = provider
        self._audience = Audience(observers)
        self._background: Any = None
        self._is_closed = False
        self._lock = ProcessLock()

    def close(self) -> None:
        """Stop the event loop, if there is one."""
        with self._lock:
            self._is_closed = True
        if self._background is not None:
            self._background.close()

    def carry_out(self, request: Question) -> Response:
        """Do what the loop asks for."""
        if isinstance(request, AskModel):
            return self._ask(request)
        if isinstance(request, RunTools):
            return Response(self._run_tools(request.invocations))
        if isinstance(request, CallUser):
            asked = (request.function, request.argument, request.timeout_s, request.name)
            return Response(call(*asked))
        self._tell(request)
        return Response()

    def _ask(self, question: AskModel) -> Response:
        provider = question.provider or self._provider
        try:
            return Response(provider.complete(question.request))
        except Exception as error:  # noqa: BLE001 - handed to the loop, which raises it
            return Response(error=error)

    def _tell(self, request: Tell) -> None:
        for observer, method in self._audience.methods(request.hook):
            with self._audience.shielded(observer, request.hook):
                answer = method(*request.arguments)
                if inspect.isawaitable(answer):
                    future = self._submit(answer)
                    if not finished(future, self._audience.limit_s):
                        future.cancel()
                        raise self._audience.hangs()
                    unwrapped(future.result())

    def _submit(self, awaitable: Awaitable[Any]) -> "Future[Any]":
        """Run on this run's own event loop; the caller's thread may have one that is busy."""
        with self._lock:
            if self._background is None:
                from .event_loop import BackgroundLoop

                self._background = BackgroundLoop()
        future: Future[Any] = self._background.submit(awaitable)
        return future

    def _run_tools(self, invocations: Sequence[Invocation]) -> List[ToolResult]:
        first = invocations[0]
        if len(invocations) == 1 and first.timeout_s is None and not first.tool.is_async:
            # Alone and without a limit it stays on the caller's thread, where a debugger finds it.
            return [self._run_sync(first)]
        started = time.monotonic()
        futures = [self._start(invocation) for invocation in invocations]
        try:
            in_time = _await_all(invocations, futures, started)
        finally:
            for future in futures:
                future.cancel()
        return [
            _outcome(invocation, future if future in in_time else None)
            for invocation, future in zip(invocations, futures)
        ]

    def _start(self, invocation: Invocation) -> "Future[ToolResult]":
        if invocation.tool.is_async:
            return self._submit(invocation.arun())
        return start_in_thread(lambda: self._run_sync(invocation))

    def _run_sync(self, invocation: Invocation) -> ToolResult:
        limit, started = invocation.timeout_s, time.monotonic()
        outcome = invocation.run()
        if isinstance(outcome, ToolResult):
            return outcome
        left = math.inf if limit is None else started + limit - time.monotonic()
        with self._lock:
            # Once the run is closed, an event loop begun now would never stop.
            if self._is_closed or left <= 0:
                getattr(outcome, "close", bool)()
                return _outcome(invocation, None)
            future = self._submit(invocation.finish(outcome))
        in_time = finished(future, left)
        future.cancel()
        return _outcome(invocation, future if in_time else None)


def _await_all(
    invocations: Sequence[Invocation], futures: Sequence["Future[Any]"], started: float
) -> Set["Future[Any]"]:
    """Wait for each until its own deadline, and return those that were in time.

    An exception that ends the program is raised at once: the others are not waited for.
    """
    limits = [invocation.timeout_s for invocation in invocations]
    pending = {
        future: math.inf if limit is None else started + limit
        for limit, future in zip(limits, futures)
    }
    in_time: Set[Future[Any]] = set()
    while pending:
        left = min(pending.values()) - time.monotonic()
        wait(pending, max(0.0, min(left, _SLICE_S)), FIRST_COMPLETED)
        now = time.monotonic()
        for future, deadline in list(pending.items()):
            if future.done():
                in_time.add(future)
                if not future.cancelled():
                    unwrapped(future.result())
            if future.done() or deadline <= now:
                del pending[future]
    return in_time


def finished(future: "Future[Any]", limit_s: float = math.inf) -> bool:
    """Wait until a future is done, and return whether it is in time."""
    deadline = time.monotonic() + limit_s
    while not future.done() and (left := deadline - time.monotonic()) > 0:
        wait([future], min(left, _SLICE_S))
    return future.done()


def _outcome(invocation: Invocation, future: "Optional[Future[ToolResult]]") -> ToolResult:
    """Return a call's result; no future stands for one that was not ready in time."""
    name = invocation.call.tool_name
    if future is None:
        return timeout_result(name, invocation.timeout_s)
    if future.cancelled():
        return cancelled_result(name)
    result: ToolResult = unwrapped(future.result())
    return result
