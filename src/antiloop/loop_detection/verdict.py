"""What is to be done after a round, or about a call."""

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
    """What is to be done now."""

    action: LoopAction = LoopAction.CONTINUE
    """What to do."""
    detection: Optional[LoopDetection] = None
    """Why; None where there is nothing to do."""
    message: str = ""
    """What to tell the model: the notice, or the result of the refused call."""
    suspicion: float = 0.0
    """How close the run is to being stuck: 0 for no evidence at all, 1 where a detector speaks."""
    case: Optional[CaseFile] = None
    """What a judge is to be asked about now; give its answer to `LoopMonitor.answer`, which gives
    the final verdict. Unanswered, the verdict stands as it is."""
    is_shadow: bool = False
    """Whether it is a verdict of a shadow detector: what it names is told, and never done."""
    would_be: Optional["LoopVerdict"] = None
    """Of a shadow detector: what listeners are told instead of this verdict, which is to go on."""

    def __repr__(self) -> str:
        found = [] if self.detection is None else [repr(self.detection)]
        shadow = ["shadow"] if self.is_shadow else []
        told = [] if self.would_be is None else [f"would be {self.would_be.action.value}"]
        return short_repr(self, self.action.value, *shadow, *told, *found)

    @property
    def reported(self) -> "LoopVerdict":
        """The verdict as listeners and observers are told it; this one but in shadow mode."""
        return self.would_be or self

    def in_shadow(self) -> "LoopVerdict":
        """Give the verdict to act on in shadow mode: to go on, with what it would be."""
        if self.action is LoopAction.CONTINUE:
            return self
        found = self.detection and replace(
            self.detection, details={**self.detection.details, "shadow": True}
        )
        told = replace(self, detection=found, is_shadow=True, case=None)
        return LoopVerdict(suspicion=self.suspicion, case=self.case, is_shadow=True, would_be=told)

    @property
    def severity(self) -> LoopSeverity:
        """How serious it is."""
        return self.action.severity

    def as_error(self) -> LoopDetectedError:
        """Give the loop as an exception, for who ends a run with one.

        Raises:
            ValueError: where no loop was found.
        """
        if self.detection is None:
            raise ValueError("no loop was found, so there is no error to raise")
        return self.detection.as_error()

    def raise_if_looping(self) -> None:
        """End the run with an exception where the action is to stop or to raise; else do nothing.

        Raises:
            LoopDetectedError: with what was found.
        """
        if self.action.ends_run:
            raise self.as_error()


GO_ON = LoopVerdict()
"""Nothing is to be done."""
