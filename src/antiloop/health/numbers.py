"""The numbers that a run's health is judged by."""

from dataclasses import dataclass
from math import inf
from typing import Dict, Optional, Tuple

from ..loop_detection.threshold import check_flag
from .limits import require_number

_LIMITS: Dict[str, Tuple[float, float]] = {
    "loop_penalty": (0, inf),
    "failure_penalty": (0, inf),
    "recovery": (0, 1),
    "recovery_rounds": (1, inf),
    "healthy_from": (0, 100),
    "warning_from": (0, 100),
    "similarity": (0, 1),
    "long_step_s": (0, inf),
    "spike_share": (0, 1),
    "spike_floor": (0, inf),
    "spike_after": (0, inf),
}
"""The least and the most of each number."""


@dataclass(frozen=True)
class HealthNumbers:
    """What the rules compare with, and what is made of their warnings.

    Raises:
        ValueError: for a number out of its limits.
        TypeError: if `needs_evidence` is not True or False.
    """

    needs_evidence: bool = True
    """Whether calls count only as part of a loop that was found."""
    loop_penalty: float = 25
    """What the findings of one detector take from the score, where no rule over calls takes any."""
    failure_penalty: float = 30
    """What a run loses that ended in failure."""
    recovery: float = 0.5
    """Which part of its penalty a warning gives back when it is closed."""
    recovery_rounds: int = 2
    """Rounds with something new, since a warning last grew, that close it; so does the user."""
    healthy_from: int = 80
    """The lowest score of a healthy run."""
    warning_from: int = 50
    """The lowest score of a run that is not likely stuck."""
    similarity: float = 0.85
    """From where on inputs are similar: a share of their characters."""
    long_step_s: float = 30.0
    """What is longer is a long step."""
    spike_share: float = 0.5
    """Which part of the cost so far is a spike, if exceeded by one event."""
    spike_floor: float = 0.05
    """What an event must cost more than to be a spike."""
    spike_after: int = 4
    """How many events with a cost come before any can be a spike: the first is always all."""
    cost_budget: Optional[float] = None
    """What a run may cost; None for no budget."""

    def __post_init__(self) -> None:
        check_flag("needs_evidence", self.needs_evidence)
        for name, (least, most) in _LIMITS.items():
            require_number(self, name, least, most)
        if self.cost_budget is not None:
            require_number(self, "cost_budget", 0)
