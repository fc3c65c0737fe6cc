"""Who hears of the verdicts of one run."""

import logging
from typing import Callable, List

from .detection import LoopSeverity
from .policy import LoopAction
from .verdict import LoopVerdict

Listener = Callable[[LoopVerdict], None]
"""Is told every verdict that is more than to go on."""

_logger = logging.getLogger("antiloop")


class Listeners:
    """The listeners of one run.

    Args:
        logs: whether verdicts are logged, too.
    """

    def __init__(self, *, logs: bool) -> None:
        self._logs = logs
        self._listeners: List[Listener] = []

    def add(self, listener: Listener) -> None:
        """Add one more."""
        self._listeners.append(listener)

    def told(self, verdict: LoopVerdict) -> LoopVerdict:
        """Give a verdict back, after all were told of it if it is more than to go on."""
        if verdict.action is LoopAction.CONTINUE:
            return verdict
        if self._logs:
            level = logging.ERROR if verdict.severity is LoopSeverity.CRITICAL else logging.WARNING
            _logger.log(level, "%s: %s", verdict.action.value, verdict.message)
        for listener in self._listeners:
            try:
                listener(verdict)
            except Exception:
                _logger.exception("listener %r raised; the run goes on", listener)
        return verdict
