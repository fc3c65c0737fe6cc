"""The end of tasks that are cancelled, also of those that swallow it."""

import asyncio
import logging
from typing import Any, Iterable, Set

logger = logging.getLogger(__name__)

GRACE_S = 1.0
"""How long a cancelled task may take to clean up."""


async def end_all(tasks: "Iterable[asyncio.Task[Any]]") -> None:
    """Cancel tasks and wait a limited time for their end.

    A task that goes on after its cancellation is closed like an abandoned generator. If it ignores
    that too, it is left behind and logged.
    """
    pending: Set[asyncio.Task[Any]] = {task for task in tasks if not task.done()}
    for end in (_cancel, _close):
        for task in pending:
            end(task)
        if pending:
            done, pending = await asyncio.wait(pending, timeout=GRACE_S)
            for task in done:
                _ = task.cancelled() or task.exception()  # or asyncio logs it
    for task in pending:
        logger.warning("%r swallows its cancellation and goes on in the background", task)


def _cancel(task: "asyncio.Task[Any]") -> None:
    task.cancel()


def _close(task: "asyncio.Task[Any]") -> None:
    try:
        task.get_coro().close()
    except Exception:
        logger.exception("%r raised when it was closed", task)
    task.cancel()  # wakes it, so that it finds its coroutine closed
