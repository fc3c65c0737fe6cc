"""Which rules there are, and by what numbers they judge."""

from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, Dict, Optional, Tuple

from ..loop_detection import LoopDetector
from ..stability import beta
from .limits import require_number
from .rules import RULES, HealthRule

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


@beta
@dataclass(frozen=True)
class HealthProfile:
    """Rules and numbers. The default decides from evidence, `literal` by the table alone.

    With evidence, the rules over tool calls count only calls of a loop that the detector has found;
    retries and handoffs count only while nothing new comes in between; a long step counts if it is
    a tool call that brought nothing new. What brings something new is what the detectors say.

    >>> from antiloop.health import HealthProfile
    >>> strict = HealthProfile().with_rule("retry_storm", threshold=2, penalty=40)
    >>> [rule.penalty for rule in strict.without("no_progress").rules if "r" in rule.name[:1]]
    [15, 20, 25, 40]

    Raises:
        ValueError: for a number out of its limits, and two rules of one name.
    """

    rules: Tuple[HealthRule, ...] = RULES
    """Looked at in this order."""
    detector: LoopDetector = field(default_factory=LoopDetector.escalating)
    """Finds the loops."""
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
        for name, (least, most) in _LIMITS.items():
            require_number(self, name, least, most)
        if self.cost_budget is not None:
            require_number(self, "cost_budget", 0)
        names = [rule.name for rule in self.rules]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise ValueError(f"there are two rules {twice[0]!r}; with_rule changes one")

    def literal(self) -> "HealthProfile":
        """Give the same numbers for the table to the letter: no evidence asked, no recovery."""
        return replace(self, needs_evidence=False, recovery=0.0, spike_after=0)

    def with_rule(self, name: str, **changes: Any) -> "HealthProfile":
        """Change fields of one rule, e.g. ``penalty``, ``threshold`` or ``window``.

        Raises:
            ValueError: if there is no such rule.
        """
        self._require(name)
        return replace(
            self,
            rules=tuple(
                replace(rule, **changes) if rule.name == name else rule for rule in self.rules
            ),
        )

    def without(self, *names: str) -> "HealthProfile":
        """Leave rules out.

        Raises:
            ValueError: if there is no such rule.
        """
        for name in names:
            self._require(name)
        return replace(self, rules=tuple(rule for rule in self.rules if rule.name not in names))

    def _require(self, name: str) -> None:
        names = [rule.name for rule in self.rules]
        if name not in names:
            raise ValueError(f"no rule {name!r}; there are {', '.join(names)}")
