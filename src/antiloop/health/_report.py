"""Report the health of a run."""

from dataclasses import dataclass
from typing import Any, Dict, Optional, Tuple

from .._lazy import lazy_method
from .._short_repr import Shown, counted, short_repr
from .._text_enum import TextEnum
from ..loop_detection import LoopVerdict
from ..stability import beta


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
@dataclass(frozen=True, repr=False)
class HealthWarning(Shown):
    """One thing that is wrong with a run, raised once, however often it happened."""

    name: str
    """The rule, e.g. ``"retry_storm"``; ``loop_`` and the detector's name for a detection."""
    message: str
    """One sentence for a person that says what happened."""
    why: str
    """The reason why it matters."""
    suggestion: str
    """A suggestion of what to try."""
    step: int
    """The tool call to blame, counted from 0: the one that made it a warning. 0 without calls."""
    steps: Tuple[int, ...] = ()
    """All tool calls concerned, in order."""
    count: int = 1
    """The number of calls or events concerned."""
    penalty: float = 0
    """The points that it takes from the score; fewer once it is over."""
    is_open: bool = True
    """Whether it still goes on, as far as the run is known."""


@beta
@dataclass(frozen=True)
class HealthReport:
    """Report how a whole run did."""

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
    """Those calls, and the replies that asked for them, took this; None if nothing is recorded."""
    cost: Optional[float] = None
    """The cost of the run, in the recorder's currency; None where unknown."""
    verdicts: Tuple[Tuple[int, LoopVerdict], ...] = ()
    """Step and verdict, as `antiloop.traces._replay` yields them for the profile's detector."""
    suspicion: Tuple[Tuple[int, float], ...] = ()
    """Step and `LoopVerdict.suspicion` after each round that left any."""
    wasted_cost: Optional[float] = None
    """The cost of the wasted calls and of the replies that asked for them; None where unknown."""

    def __repr__(self) -> str:
        warnings = counted(len(self.warnings), "warning")
        return short_repr(self, str(self.score), self.status.value, warnings)

    _repr_html_ = lazy_method("report._notebook.pictures", "health_html")

    def to_dict(self) -> Dict[str, Any]:
        """Return the report as plain JSON data."""
        return {
            **vars(self),
            "status": self.status.value,
            "warnings": [{**vars(each), "steps": list(each.steps)} for each in self.warnings],
            "verdicts": [{"step": step, **verdict.to_dict()} for step, verdict in self.verdicts],
            "suspicion": [list(each) for each in self.suspicion],
        }
