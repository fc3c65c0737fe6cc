"""A detection: what a detector returns when it finds a loop."""

from dataclasses import dataclass, field
from typing import Any, List, Mapping, Optional, Tuple

from ..exceptions import LoopDetectedError
from ..frozen import frozen
from ..short_repr import quoted, short_repr
from ..stability import beta
from ..text_enum import TextEnum


@beta
class LoopSeverity(TextEnum):
    """How serious a verdict is."""

    OK = "ok"
    """Nothing was found, or nothing new."""
    WARNING = "warning"
    """The model receives a notice."""
    CRITICAL = "critical"
    """Calls are blocked, or the run ends."""


@beta
@dataclass(frozen=True)
class LoopDetection:
    """One loop that a detector found, as a sentence and as data."""

    detector_name: str
    """Name of the detector, e.g. ``"repeat"``."""
    message: str
    """The finding in one sentence, for a person."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """The finding as plain JSON; ``indices`` are the calls of the loop, counted from 0."""
    severity: LoopSeverity = LoopSeverity.WARNING
    """Set by the policy: ``warning`` for a notice, ``critical`` for a stronger action."""
    identity: str = ""
    """Equal for two detections of the same loop: same kind, same calls, cycles up to rotation."""
    period: int = 1
    """Rounds in one lap."""
    repetitions: int = 0
    """Laps seen within the window."""
    indices: Tuple[int, ...] = ()
    """The calls of the loop, counted from the start of the run, oldest first."""
    call_ids: Tuple[str, ...] = ()
    """Ids of the last calls of the loop, at most five, if the provider gave ids."""
    wasted_calls: int = 0
    """Number of calls that brought nothing new: all calls after the first lap."""
    members: Tuple[str, ...] = ()
    """Fingerprints of the calls in the loop."""
    refused: Optional[Tuple[str, ...]] = None
    """Keys of the calls that a block refuses; None means the members. Empty if a block would hit
    healthy work: the next detection of the loop then takes the last action of the ladder."""
    is_lasting: bool = False
    """Whether a block stays when the agent does something else, as the block of a budget does."""
    spacing: int = 1
    """Rounds that must pass before the same loop takes the next rung, 1 or more."""
    is_certain: bool = True
    """Whether no judge is asked about it. False if the calls are only nearly the same, or other
    work lies between them."""

    def __repr__(self) -> str:
        return short_repr(self, quoted(self.detector_name), quoted(self.message))

    def __post_init__(self) -> None:
        # All listeners receive this one object.
        object.__setattr__(self, "details", frozen(self.details))

    def as_error(self) -> LoopDetectedError:
        """Return the finding as an exception that carries this detection."""
        error = LoopDetectedError(self.message, self.detector_name, self.details)
        error.detection = self
        return error


def named_calls(details: Mapping[str, Any]) -> List[Tuple[str, str]]:
    """Return tool and arguments of the calls that details name, as texts.

    A custom detector may store something else under the same key.
    """
    calls = details.get("calls")
    listed = calls if isinstance(calls, (list, tuple)) else ()
    return [
        (str(call["tool"]), str(call.get("arguments", "")))
        for call in listed
        if isinstance(call, Mapping) and "tool" in call
    ]
