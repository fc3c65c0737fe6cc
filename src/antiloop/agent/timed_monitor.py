"""A monitor that tells how long each of its decisions took."""

import logging
from time import perf_counter
from typing import Any, Callable, Iterable, Optional, Sequence, Tuple

from ..loop_detection import LoopMonitor, LoopVerdict
from ..loop_detection.evidence.compared import Result
from ..types import ToolCall

_logger = logging.getLogger("antiloop")
Hear = Callable[[float], None]
"""Called with the seconds of a decision."""


class TimedMonitor(LoopMonitor):
    """Decides as the monitor that it takes the place of."""

    _hears: Tuple[Hear, ...] = ()

    @classmethod
    def of(cls, monitor: LoopMonitor, observers: Iterable[Any]) -> LoopMonitor:
        """Return a timed monitor for a new run, if an observer wants to hear of times."""
        hears = [getattr(each, "on_decision_time", None) for each in observers]
        found = tuple(hear for hear in hears if hear is not None)
        if not found:
            return monitor
        timed = cls(monitor._detector, monitor._tools)
        timed._hears = found
        return timed

    def __getstate__(self) -> Any:
        # As listeners, who hears belongs to the process.
        return {**super().__getstate__(), "_hears": ()}

    def before(self, call: ToolCall) -> LoopVerdict:
        """Decide whether a call may run."""
        return self._timed(super().before, call)

    def after(self, tool_calls: Sequence[ToolCall], tool_results: Sequence[Result]) -> LoopVerdict:
        """Decide about a round."""
        return self._timed(super().after, tool_calls, tool_results)

    def said(self, text: Optional[str]) -> LoopVerdict:
        """Decide about a reply."""
        return self._timed(super().said, text)

    def _timed(self, decide: Callable[..., LoopVerdict], *arguments: Any) -> LoopVerdict:
        begun = perf_counter()
        verdict = decide(*arguments)
        took = perf_counter() - begun
        for hear in self._hears:
            try:
                hear(took)
            except Exception:
                _logger.exception("observer %r raised; the run goes on", hear)
        return verdict
