"""Measure how long decisions take, for the observers that want to know.

The engine itself reads no clock: a verdict never depends on one.
"""

import logging
from contextlib import contextmanager, nullcontext
from time import perf_counter
from typing import Any, Callable, ContextManager, Iterable, Iterator, Optional

__all__ = ["Measure", "measure_for"]

Measure = Callable[[], "ContextManager[object]"]
"""Makes a context manager within which one decision is made."""

_logger = logging.getLogger("antiloop")


def measure_for(observers: Iterable[Any], around: Measure = nullcontext) -> Optional[Measure]:
    """Return the `measure` of a monitor, which tells the observers the seconds of each decision.

    None if no observer wants to know; `around` is a context to decide in as well.
    """
    hears = [getattr(each, "on_decision_time", None) for each in observers]
    found = [hear for hear in hears if hear is not None]

    @contextmanager
    def measure() -> Iterator[None]:
        begun = perf_counter()
        with around():
            yield
        took = perf_counter() - begun
        for hear in found:
            try:
                hear(took)
            except Exception:
                _logger.exception("observer %r raised; the run goes on", hear)

    return measure if found else None
