"""A verdict: what to do after a round, or about a call."""

from dataclasses import dataclass, replace
from typing import Optional

from ..exceptions import LoopDetectedError
from ..short_repr import short_repr
from ..stability import beta
from .detection import LoopDetection, LoopSeverity
from .policy import LoopAction
from .second_opinion.case_file import CaseFile


@beta
@dataclass(frozen=True)
class LoopVerdict:
    """What to do now."""

    action: LoopAction = LoopAction.CONTINUE
    """The action."""
    detection: Optional[LoopDetection] = None
    """The loop that was found; None if there is nothing to do."""
    message: str = ""
    """The message to the model: the notice, or the result of the blocked call."""
    suspicion: float = 0.0
    """How close the run is to being stuck, from 0 (no evidence) to 1 (a detector found a loop)."""
    case: Optional[CaseFile] = None
    """A question for a judge, or None. Give the answer to `LoopMonitor.answer`, which returns the
    final verdict. Without an answer, this verdict is final."""
    is_shadow: bool = False
    """Whether a shadow detector gave this verdict: its action is reported, and never done."""
    would_be: Optional["LoopVerdict"] = None
    """For a shadow detector: the decision that listeners receive; this verdict says continue."""

    def __repr__(self) -> str:
        found = [] if self.detection is None else [repr(self.detection)]
        shadow = ["shadow"] if self.is_shadow else []
        shadowed = [] if self.would_be is None else [f"would be {self.would_be.action.value}"]
        return short_repr(self, self.action.value, *shadow, *shadowed, *found)

    @property
    def reported(self) -> "LoopVerdict":
        """The verdict that listeners and observers receive: in shadow mode `would_be`."""
        return self.would_be or self

    def in_shadow(self) -> "LoopVerdict":
        """Return the verdict of shadow mode: continue, with the decision in `would_be`."""
        if self.action is LoopAction.CONTINUE:
            return self
        found = self.detection and replace(
            self.detection, details={**self.detection.details, "shadow": True}
        )
        real = replace(self, detection=found, is_shadow=True, case=None)
        return LoopVerdict(suspicion=self.suspicion, case=self.case, is_shadow=True, would_be=real)

    @property
    def severity(self) -> LoopSeverity:
        """Severity of the action."""
        return self.action.severity

    def as_error(self) -> LoopDetectedError:
        """Return the loop as an exception, to end a run with it.

        Raises:
            ValueError: if no loop was found.
        """
        if self.detection is None:
            raise ValueError("no loop was found, so there is no error to raise")
        return self.detection.as_error()

    def raise_if_looping(self) -> None:
        """Raise an exception if the action is stop or raise; otherwise do nothing.

        Raises:
            LoopDetectedError: with the detection.
        """
        if self.action.ends_run:
            raise self.as_error()


GO_ON = LoopVerdict()
"""The verdict that says continue."""
