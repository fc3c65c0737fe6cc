"""Asking a judge: an error, a timeout or a malformed answer counts as no opinion."""

import inspect
import logging
from concurrent.futures import TimeoutError as NotInTime
from typing import Any, Awaitable, Optional

from ...loop_detection import CaseFile, Opinion, SecondOpinion
from ...loop_detection.second_opinion.opinion import opinion_of
from .threads import start_in_thread

logger = logging.getLogger(__name__)


def ask(options: SecondOpinion, case: CaseFile) -> Optional[Opinion]:
    """Ask a judge, sync or async, and wait for its answer, but no longer than it may take.

    It runs on a separate thread, so that a hanging judge does not block the run.
    """
    try:
        asked = start_in_thread(lambda: _judged(options.judge, case))
        # Not `result`: the judge may raise a timeout, too, and a cancellation is not an Exception.
        raised = asked.exception(options.timeout)
    except NotInTime:
        logger.warning("the judge took longer than %s s; it is ignored", options.timeout)
        return None
    except Exception:
        logger.exception("the judge could not be asked; it is ignored")
        return None
    if isinstance(raised, (KeyboardInterrupt, SystemExit)):
        raise raised
    if raised is not None:
        logger.error("the judge raised; it is ignored", exc_info=raised)
        return None
    return _read(asked.result())


async def aask(options: SecondOpinion, case: CaseFile) -> Optional[Opinion]:
    """Ask a judge without blocking the event loop; otherwise like `ask`."""
    import asyncio

    from .cancellation import end_all

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        logger.warning("this event loop is not from asyncio; the judge is not asked")
        return None
    work = asyncio.ensure_future(_ajudged(options.judge, case))
    try:
        await asyncio.wait({work}, timeout=options.timeout)
        if work.cancelled():  # from inside; the run was not
            logger.warning("the judge was cancelled; it is ignored")
            return None
        if work.done():
            return _read(work.result())
        logger.warning("the judge took longer than %s s; it is ignored", options.timeout)
    except Exception:
        logger.exception("the judge raised; it is ignored")
    finally:
        await end_all([work])
    return None


def _judged(judge: Any, case: CaseFile) -> Any:
    answer = judge(case)
    if not inspect.isawaitable(answer):
        return answer
    import asyncio

    return asyncio.run(_awaited(answer))


async def _ajudged(judge: Any, case: CaseFile) -> Any:
    import asyncio

    own = getattr(judge, "acall", None)
    if own is not None or inspect.iscoroutinefunction(judge):
        return await (own or judge)(case)
    # A sync judge must not keep the event loop from everything else.
    answer = await asyncio.wrap_future(start_in_thread(lambda: judge(case)))
    return await answer if inspect.isawaitable(answer) else answer


async def _awaited(answer: Awaitable[Any]) -> Any:
    return await answer


def _read(answer: Any) -> Optional[Opinion]:
    opinion = opinion_of(answer)
    if opinion is None and answer is not None:
        logger.warning(
            "the judge returned a %s, not an Opinion or a bool; it is ignored",
            type(answer).__name__,
        )
    return opinion
