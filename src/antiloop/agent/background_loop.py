"""An event loop on a thread of its own, for the async parts of a sync run."""

import asyncio
import threading
from concurrent.futures import Future
from typing import Any, Awaitable

from .threads import start_in_thread


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

    def submit(self, awaitable: Awaitable[Any]) -> "Future[Any]":
        """Start a coroutine and give the future of its result; cancelling that cancels it."""
        return asyncio.run_coroutine_threadsafe(_result(awaitable), self._loop)

    def close(self) -> None:
        """Cancel what still runs, wait for it to end, and stop the loop."""
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.result()


async def _result(awaitable: Awaitable[Any]) -> Any:
    return await awaitable
