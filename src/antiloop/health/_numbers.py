"""The numbers that a run's health is judged by, and what they may be."""

import os
from dataclasses import dataclass
from math import inf
from typing import Any, Dict, Optional, Tuple

from .._amounts import number
from .._checks import check_flag, is_number


def require_number(
    owner: Any, name: str, least: float, most: float = inf, *, whole: bool = False
) -> None:
    """Require a field to be a number within limits, these among it."""
    value = getattr(owner, name)
    if is_number(value) and least <= value <= most and not (whole and isinstance(value, float)):
        return
    wanted = f"{least:g} or more" if most == inf else f"from {least:g} to {most:g}"
    kind = "a whole number, " if whole else ""
    raise ValueError(f"{name} must be {kind}{wanted}, got {value!r}")


BUDGET_VARIABLE = "ANTILOOP_COST_BUDGET"
"""Environment variable with what a run may cost, where nothing else says so."""


def budget_from_environment() -> Optional[float]:
    """Return what a run may cost; None for no budget.

    Raises:
        ValueError: if the environment variable is not an amount.
    """
    given = os.environ.get(BUDGET_VARIABLE)
    budget = number(given or None)
    if given and (budget is None or budget < 0):
        raise ValueError(f"{BUDGET_VARIABLE} must be a number, 0 or more, got {given!r}")
    return budget


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
    """Set what the rules compare with, and what is made of their warnings.

    Raises:
        ValueError: for a number out of its limits.
        TypeError: if `needs_evidence` is not True or False.
    """

    needs_evidence: bool = True
    """Whether calls count only as part of a loop that was found."""
    loop_penalty: float = 25
    """The findings of one detector take this from the score, where no rule over calls takes any."""
    failure_penalty: float = 30
    """A run that ended in failure loses this."""
    recovery: float = 0.5
    """The part of its penalty that a warning gives back when it is closed."""
    recovery_rounds: int = 2
    """Rounds with something new, since a warning last grew, that close it; so does the user."""
    healthy_from: int = 80
    """The lowest score of a healthy run."""
    warning_from: int = 50
    """The lowest score of a run that is not likely stuck."""
    similarity: float = 0.85
    """From where on inputs are similar: a share of their characters."""
    long_step_s: float = 30.0
    """A step that takes longer is a long step."""
    spike_share: float = 0.5
    """An event must cost more than this part of the cost so far to be a spike."""
    spike_floor: float = 0.05
    """An event must cost more than this to be a spike."""
    spike_after: int = 4
    """This many events with a cost come before any can be a spike: the first is always all."""
    cost_budget: Optional[float] = None
    """The most that a run may cost; None for no budget."""

    def __post_init__(self) -> None:
        check_flag("needs_evidence", self.needs_evidence)
        for name, (least, most) in _LIMITS.items():
            require_number(self, name, least, most)
        if self.cost_budget is not None:
            require_number(self, "cost_budget", 0)
