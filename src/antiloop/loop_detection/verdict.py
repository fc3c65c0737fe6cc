"""What is to be done after a round, or about a call."""

from dataclasses import dataclass
from typing import Optional

from ..stability import beta
from .detection import LoopDetection, LoopSeverity
from .policy import LoopAction


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

    @property
    def severity(self) -> LoopSeverity:
        """How serious it is."""
        return self.action.severity


GO_ON = LoopVerdict()
"""Nothing is to be done."""
