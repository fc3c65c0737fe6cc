"""What is said about the health of a run."""

from dataclasses import dataclass
from typing import Any, Dict, Optional, Tuple

from ..lazy import lazy_method
from ..loop_detection import LoopVerdict
from ..short_repr import counted, repr_of_fields, short_repr
from ..stability import beta
from ..text_enum import TextEnum


@beta
class HealthStatus(TextEnum):
    """The score in a word."""

    HEALTHY = "Healthy"
    """A score of 80 or more."""
    WARNING = "Warning"
    """A score of 50 or more."""
    LIKELY_STUCK = "Likely stuck"
    """A score below 50."""
    FAILED = "Failed"
    """The run ended in failure, whatever its score."""


@beta
@dataclass(frozen=True)
class HealthWarning:
    """One thing that is wrong with a run, raised once, however often it happened."""

    name: str
    """The rule, e.g. ``"retry_storm"``; ``loop_`` and the detector's name for a detection."""
    message: str
    """What happened, in one sentence for a person."""
    why: str
    """Why it matters."""
    suggestion: str
    """What to try."""
    step: int
    """The tool call to blame, counted from 0: the one that made it a warning. 0 without calls."""
    steps: Tuple[int, ...] = ()
    """All tool calls concerned, in order."""
    count: int = 1
    """How many calls or events are concerned."""
    penalty: float = 0
    """What it takes from the score; less once it is over."""
    is_open: bool = True
    """Whether it still goes on, as far as the run is known."""

    __repr__ = repr_of_fields


@beta
@dataclass(frozen=True)
class HealthReport:
    """How a whole run did."""

    score: int
    """From 100, nothing wrong, down to 0; fractions are dropped."""
    status: HealthStatus
    """The score in a word."""
    warnings: Tuple[HealthWarning, ...] = ()
    """In the order in which they were raised."""
    calls: int = 0
    """Tool calls of the run."""
    wasted_calls: int = 0
    """Tool calls of loops that brought nothing new: all but those of each first lap."""
    wasted_tokens: Optional[int] = None
    """What those calls, and the replies that asked for them, took; None if nothing is recorded."""
    cost: Optional[float] = None
    """What the run cost, in the recorder's currency; None where unknown."""
    verdicts: Tuple[Tuple[int, LoopVerdict], ...] = ()
    """Step and verdict, as `antiloop.traces.replay` yields them for the profile's detector."""
    suspicion: Tuple[Tuple[int, float], ...] = ()
    """Step and `LoopVerdict.suspicion` after each round that left any."""
    wasted_cost: Optional[float] = None
    """What the wasted calls, and the replies that asked for them, cost; None where unknown."""

    def __repr__(self) -> str:
        warnings = counted(len(self.warnings), "warning")
        return short_repr(self, str(self.score), self.status.value, warnings)

    _repr_html_ = lazy_method("report.notebook", "health_html")

    def to_dict(self) -> Dict[str, Any]:
        """Return the report as plain JSON data."""
        return {
            **vars(self),
            "status": self.status.value,
            "warnings": [{**vars(each), "steps": list(each.steps)} for each in self.warnings],
            "verdicts": [_verdict_as_json(*each) for each in self.verdicts],
            "suspicion": [list(each) for each in self.suspicion],
        }


def _verdict_as_json(step: int, verdict: LoopVerdict) -> Dict[str, Any]:
    found = verdict.detection
    return {
        "step": step,
        "detector": found.detector_name if found else "",
        "action": verdict.action.value,
        "severity": verdict.severity.value,
        "message": found.message if found else verdict.message,
    }
