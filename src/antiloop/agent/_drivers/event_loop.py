"""The event loop of the async parts of a sync run, and the end of tasks that are cancelled."""

import asyncio
import logging
import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotInTime
from typing import Any, Awaitable, Iterable, Optional, Set

from .threads import fatal_as_value, start_in_thread

logger = logging.getLogger(__name__)

GRACE_S = 1.0
"""Seconds that a cancelled task may take to clean up."""
_CLOSING_S = 3 * GRACE_S


class BackgroundLoop:
    """Runs coroutines for a caller that is not async; one loop for the whole run.

    One loop, because what async tools share - sessions, locks - belongs to the loop it was made in.
    """

    def __init__(self) -> None:
        self._ready = threading.Event()
        self._thread = start_in_thread(lambda: asyncio.run(self._serve()), "antiloop-loop")
        self._thread.add_done_callback(lambda _: self._ready.set())
        self._ready.wait()
        if self._thread.done():  # It failed to start; the exception says why.
            self._thread.result()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        self._ready.set()
        await self._stop.wait()
        # `asyncio.run` would wait for ever for a task that swallows its cancellation.
        await end_all(asyncio.all_tasks() - {asyncio.current_task()})

    def submit(self, awaitable: Awaitable[Any]) -> "Future[Any]":
        """Start a coroutine and return the future of its result; to cancel that cancels it.

        The result may be a `Fatal`.
        """
        return asyncio.run_coroutine_threadsafe(fatal_as_value(awaitable), self._loop)

    def close(self) -> None:
        """Cancel what still runs, wait for it to end, but not for ever, and stop the loop."""
        self._loop.call_soon_threadsafe(self._stop.set)
        try:
            self._thread.result(timeout=_CLOSING_S)
        except NotInTime:
            logger.warning("an async tool or observer cannot be cancelled and goes on")


async def in_time(
    awaitable: Awaitable[Any], limit_s: Optional[float]
) -> "Optional[asyncio.Task[Any]]":
    """Wait for a coroutine and return its task; None if it takes too long, and then it is ended.

    Not `asyncio.wait_for`: before Python 3.12 it can swallow a cancellation that comes late.

    Args:
        awaitable: the coroutine; its result may be a `Fatal`.
        limit_s: how long it may take; None for no limit.
    """
    work = asyncio.ensure_future(fatal_as_value(awaitable))
    is_done = False
    try:
        await asyncio.wait({work}, timeout=limit_s)
        is_done = work.done()
    finally:
        await end_all([work])
    return work if is_done else None


async def end_all(tasks: "Iterable[asyncio.Task[Any]]") -> None:
    """Cancel tasks and wait a limited time for their end.

    A task that goes on after its cancellation is closed like an abandoned generator. If it ignores
    that too, it is left behind and logged.
    """
    pending: Set[asyncio.Task[Any]] = {task for task in tasks if not task.done()}
    for end in (asyncio.Task.cancel, _close):
        for task in pending:
            end(task)
        if pending:
            done, pending = await asyncio.wait(pending, timeout=GRACE_S)
            for task in done:
                _ = task.cancelled() or task.exception()  # or asyncio logs it
    for task in pending:
        logger.warning("%r swallows its cancellation and goes on in the background", task)


def _close(task: "asyncio.Task[Any]") -> None:
    try:
        task.get_coro().close()
    except Exception:
        logger.exception("%r raised when it was closed", task)
    task.cancel()  # wakes it, so that it finds its coroutine closed
