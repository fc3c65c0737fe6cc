"""The listeners to the verdicts of one run."""

import logging
from typing import Callable, List

from ..detection import LoopSeverity
from ..policy import LoopAction
from ..settings import DetectorSettings
from ..verdict import LoopVerdict

Listener = Callable[[LoopVerdict], None]
"""Called with every verdict but ``continue``."""

_CONTINUE = LoopAction.CONTINUE  # before Python 3.12, a look-up in the class takes long
_logger = logging.getLogger("antiloop")


class Listeners:
    """The listeners of one run.

    Args:
        logs: whether verdicts are logged, too.
        shadow: whether the verdicts are reported without any effect.
    """

    def __init__(self, *, logs: bool, shadow: bool) -> None:
        self.logs = logs
        """Whether verdicts are logged, too."""
        self._shadow = shadow
        self._listeners: List[Listener] = []

    @classmethod
    def of(cls, detector: DetectorSettings, live: bool) -> "Listeners":
        """Make those of a run; the replay of a recorded run logs nothing, and hides nothing."""
        return cls(logs=live and detector.log_verdicts, shadow=live and detector.shadow)

    def add(self, listener: Listener) -> None:
        """Add one more."""
        self._listeners.append(listener)

    def alone(self) -> "Listeners":
        """Return the same without listeners, for a copy of the run."""
        return Listeners(logs=self.logs, shadow=self._shadow)

    def acted_on(self, verdict: LoopVerdict) -> LoopVerdict:
        """Return the verdict to act on: ``continue`` in shadow mode."""
        return verdict.in_shadow() if self._shadow else verdict

    def report(self, verdict: LoopVerdict) -> LoopVerdict:
        """Report a verdict to all listeners, unless it says continue; return the one to act on.

        A verdict with an open question is reported when the question is closed.
        """
        if verdict.action is _CONTINUE and verdict.would_be is None:
            return verdict
        verdict = self.acted_on(verdict)
        reported = verdict.reported
        if verdict.case:
            return verdict
        if self.logs:
            log(reported)
        for listener in self._listeners:
            try:
                listener(reported)
            except Exception:
                _logger.exception("listener %r raised; the run goes on", listener)
        return verdict


def log(verdict: LoopVerdict) -> None:
    """Log a verdict: a notice as a warning, a stronger action as an error."""
    level = logging.ERROR if verdict.severity is LoopSeverity.CRITICAL else logging.WARNING
    shadow = "shadow: " if verdict.is_shadow else ""
    _logger.log(level, "%s%s: %s", shadow, verdict.action.value, verdict.message)
