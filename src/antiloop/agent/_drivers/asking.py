"""Calling a judge, or another function of the user's, for a limited time and without harm.

A function that raises, takes too long or gives a malformed answer has given none.
"""

import inspect
import logging
from concurrent.futures import TimeoutError as NotInTime
from typing import Any, Awaitable, Optional

from ...loop_detection import CaseFile, Opinion, SecondOpinion
from ...loop_detection._internal import opinion_of
from .threads import start_in_thread, unwrapped

logger = logging.getLogger(__name__)


def ask(options: SecondOpinion, case: CaseFile) -> Optional[Opinion]:
    """Ask a judge, sync or async, and wait for its answer, but no longer than it may take."""
    return opinion_in(call(options.judge, case, options.timeout, "the judge"))


async def aask(options: SecondOpinion, case: CaseFile) -> Optional[Opinion]:
    """Ask a judge without blocking the event loop; otherwise like `ask`."""
    return opinion_in(await acall(options.judge, case, options.timeout, "the judge"))


def call(function: Any, argument: Any, timeout_s: Optional[float], name: str) -> Any:
    """Call a function, sync or async, and return its answer; None if it has none in time.

    It runs on a separate thread, so that one that hangs does not block the run.
    """
    try:
        asked = start_in_thread(lambda: _called(function, argument))
        # Not `result`: it may raise a timeout itself, and a cancellation is not an Exception.
        raised = asked.exception(timeout_s)
    except NotInTime:
        logger.warning("%s took longer than %s s; it is ignored", name, timeout_s)
        return None
    except Exception:
        logger.exception("%s could not be asked; it is ignored", name)
        return None
    if isinstance(raised, (KeyboardInterrupt, SystemExit)):
        raise raised
    if raised is not None:
        logger.error("%s raised; it is ignored", name, exc_info=raised)
        return None
    return asked.result()


async def acall(function: Any, argument: Any, timeout_s: Optional[float], name: str) -> Any:
    """Call a function without blocking the event loop; otherwise like `call`."""
    import asyncio

    from .event_loop import in_time

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        logger.warning("this event loop is not from asyncio; %s is not asked", name)
        return None
    try:
        work = await in_time(_acalled(function, argument), timeout_s)
        if work is None:
            logger.warning("%s took longer than %s s; it is ignored", name, timeout_s)
        elif work.cancelled():  # from inside; the run was not
            logger.warning("%s was cancelled; it is ignored", name)
        else:
            return unwrapped(work.result())
    except Exception:
        logger.exception("%s raised; it is ignored", name)
    return None


def _called(function: Any, argument: Any) -> Any:
    answer = function(argument)
    if not inspect.isawaitable(answer):
        return answer
    import asyncio

    return asyncio.run(_awaited(answer))


async def _acalled(function: Any, argument: Any) -> Any:
    import asyncio

    own = getattr(function, "acall", None)
    if own is not None or inspect.iscoroutinefunction(function):
        return await (own or function)(argument)
    # A sync function must not keep the event loop from everything else.
    answer = await asyncio.wrap_future(start_in_thread(lambda: function(argument)))
    return await answer if inspect.isawaitable(answer) else answer


async def _awaited(answer: Awaitable[Any]) -> Any:
    return await answer


def opinion_in(answer: Any) -> Optional[Opinion]:
    """Read what a judge returned; None for no opinion."""
    opinion = opinion_of(answer)
    if opinion is None and answer is not None:
        kind = type(answer).__name__
        logger.warning("the judge returned a %s, not an Opinion or a bool; it is ignored", kind)
    return opinion
