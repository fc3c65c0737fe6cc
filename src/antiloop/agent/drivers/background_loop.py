"""An event loop on a separate thread, for the async parts of a sync run."""

import asyncio
import logging
import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotInTime
from typing import Any, Awaitable

from .cancellation import GRACE_S, end_all
from .threads import start_in_thread

logger = logging.getLogger(__name__)

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
        """Start a coroutine and return the future of its result; to cancel that cancels it."""
        return asyncio.run_coroutine_threadsafe(_result(awaitable), self._loop)

    def close(self) -> None:
        """Cancel what still runs, wait for it to end, but not for ever, and stop the loop."""
        self._loop.call_soon_threadsafe(self._stop.set)
        try:
            self._thread.result(timeout=_CLOSING_S)
        except NotInTime:
            logger.warning("an async tool cannot be cancelled and goes on in the background")


async def _result(awaitable: Awaitable[Any]) -> Any:
    return await awaitable
