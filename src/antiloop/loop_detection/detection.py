"""What a detector says when it has found something."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Mapping, Optional, Tuple

from ..exceptions import LoopDetectedError
from ..frozen import frozen
from ..short_repr import quoted, short_repr
from ..stability import beta


@beta
class LoopSeverity(str, Enum):
    """How serious a verdict is."""

    OK = "ok"
    """Nothing was found, or nothing new is to be said."""
    WARNING = "warning"
    """The model is told."""
    CRITICAL = "critical"
    """Calls are refused, or the run ends."""


@beta
@dataclass(frozen=True)
class LoopDetection:
    """One loop that was found: by whom, in words, and as data."""

    detector_name: str
    """Name of the detector, e.g. ``"repeat"``."""
    message: str
    """What was found, in one sentence for a person."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """The finding as plain JSON; ``indices`` are the calls concerned, counted from 0."""
    severity: LoopSeverity = LoopSeverity.WARNING
    """Set by the policy: ``warning`` for a notice, ``critical`` for what is stronger."""
    identity: str = ""
    """Equal for two detections of the same loop: kind and calls, cycles compared up to rotation."""
    period: int = 1
    """How many rounds one lap takes."""
    repetitions: int = 0
    """How many laps were seen, within the window."""
    indices: Tuple[int, ...] = ()
    """The calls concerned, counted from the start of the run, oldest first."""
    call_ids: Tuple[str, ...] = ()
    """Ids of the last calls concerned, at most five, where the provider gave ids."""
    wasted_calls: int = 0
    """Calls that brought nothing new: all but those of the first lap."""
    members: Tuple[str, ...] = ()
    """Fingerprints of the calls that make up the loop."""
    refused: Optional[Tuple[str, ...]] = None
    """Keys of what a block refuses; None for the members. Empty where a refusal would hit healthy
    work: a loop that was found before takes the last action of the ladder instead."""
    is_lasting: bool = False
    """Whether a block stays, whatever else the agent does, as that of a budget."""
    spacing: int = 1
    """How many rounds must pass before the same loop takes a further rung, 1 or more."""

    def __repr__(self) -> str:
        return short_repr(self, quoted(self.detector_name), quoted(self.message))

    def __post_init__(self) -> None:
        # Everybody who is told of a loop is shown this one object.
        object.__setattr__(self, "details", frozen(self.details))

    def as_error(self) -> LoopDetectedError:
        """Give the finding as an exception that carries this detection."""
        error = LoopDetectedError(self.message, self.detector_name, self.details)
        error.detection = self
        return error
