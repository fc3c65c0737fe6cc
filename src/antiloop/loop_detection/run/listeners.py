"""Who hears of the verdicts of one run."""

import logging
from typing import Callable, List

from ..detection import LoopSeverity
from ..policy import LoopAction
from ..verdict import LoopVerdict

Listener = Callable[[LoopVerdict], None]
"""Is told every verdict that is more than to go on."""

_logger = logging.getLogger("antiloop")


class Listeners:
    """The listeners of one run.

    Args:
        logs: whether verdicts are logged, too.
        shadow: whether what they are told is never done.
    """

    def __init__(self, *, logs: bool, shadow: bool = False) -> None:
        self._logs = logs
        self._shadow = shadow
        self._listeners: List[Listener] = []

    def add(self, listener: Listener) -> None:
        """Add one more."""
        self._listeners.append(listener)

    def alone(self) -> "Listeners":
        """Give the same without listeners, for a copy of the run."""
        return Listeners(logs=self._logs, shadow=self._shadow)

    def acted_on(self, verdict: LoopVerdict) -> LoopVerdict:
        """Give the verdict that is to be acted on: in shadow mode, to go on."""
        return verdict.in_shadow() if self._shadow else verdict

    def told(self, verdict: LoopVerdict) -> LoopVerdict:
        """Give the verdict to act on, after all were told of it if it is more than to go on.

        One with an open question is told when the question is over.
        """
        if verdict.action is LoopAction.CONTINUE and verdict.would_be is None:
            return verdict
        verdict = self.acted_on(verdict)
        told = verdict.reported
        if verdict.case:
            return verdict
        if self._logs:
            _log(told)
        for listener in self._listeners:
            try:
                listener(told)
            except Exception:
                _logger.exception("listener %r raised; the run goes on", listener)
        return verdict


def _log(verdict: LoopVerdict) -> None:
    level = logging.ERROR if verdict.severity is LoopSeverity.CRITICAL else logging.WARNING
    shadow = "shadow: " if verdict.is_shadow else ""
    _logger.log(level, "%s%s: %s", shadow, verdict.action.value, verdict.message)
