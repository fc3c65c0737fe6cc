"""The observers of one run: what they raise is logged, and one that hangs receives nothing more.

A sync method is a call in the caller's thread and takes as long as it takes: nothing can end it
from outside, and on a separate thread it would lose what belongs to the caller's.
"""

import logging
from contextlib import contextmanager
from typing import Any, Callable, Iterator, Sequence, Set, Tuple

from .._tools.toolbox import is_cancellation

logger = logging.getLogger(__name__)


class Hangs(Exception):
    """An async method of an observer takes too long."""


class Audience:
    """The observers that still receive the events of a run."""

    limit_s = 30.0
    """Seconds that an async method may take; the run waits for it."""

    def __init__(self, observers: Sequence[Any]) -> None:
        self._observers = observers
        self._hanging: Set[int] = set()

    def methods(self, hook: str) -> Iterator[Tuple[Any, Callable[..., Any]]]:
        """Return the methods of each observer for an event, the sync one before the async one."""
        for observer in self._observers:
            for name in (hook, f"a_{hook}"):
                method = getattr(observer, name, None)
                if method is not None and id(observer) not in self._hanging:
                    yield observer, method

    def hangs(self) -> Hangs:
        """Return what a driver raises where a method takes longer than that."""
        return Hangs(f"no end after {self.limit_s:g} s; nothing more of this run is reported to it")

    @contextmanager
    def shielded(
        self, observer: Any, hook: str, is_run_cancelled: Callable[[], bool] = lambda: False
    ) -> Iterator[None]:
        """Log what an observer raises; the run goes on, unless it is the run that was cancelled."""
        try:
            yield
        except BaseException as error:
            is_own = is_cancellation(error) and not is_run_cancelled()
            if not (isinstance(error, Exception) or is_own):
                raise
            logger.exception("observer %s failed in %s", type(observer).__name__, hook)
            if isinstance(error, Hangs):
                # It would hang at each further event: there are about ten in a round.
                self._hanging.add(id(observer))
