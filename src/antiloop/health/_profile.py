"""Hold the rules, and the numbers by which they judge."""

from dataclasses import dataclass, field, replace
from typing import Any, Optional, Tuple

from .._checks import check_kind
from .._short_repr import Shown
from ..loop_detection import LoopDetector
from ..loop_detection._internal import check_detector
from ..prices import Prices
from ..stability import beta
from ._numbers import HealthNumbers
from ._rules import RULES, HealthRule


@beta
@dataclass(frozen=True, repr=False)
class HealthProfile(Shown, HealthNumbers):
    """Rules and numbers. The default decides from evidence, `literal` by the table alone.

    With evidence, the rules over tool calls count only calls of a loop that the detector has found;
    retries and handoffs count only while nothing new comes in between; a long step counts if it is
    a tool call that brought nothing new. The detectors decide what is new.

    >>> from antiloop.health import HealthProfile
    >>> strict = HealthProfile().with_rule("retry_storm", threshold=2, penalty=40)
    >>> [rule.penalty for rule in strict.without("no_progress").rules if "r" in rule.name[:1]]
    [15, 20, 25, 40]

    Raises:
        ValueError: for a number out of its limits, and two rules of one name.
        TypeError: for anything but rules, and a detector.
    """

    rules: Tuple[HealthRule, ...] = RULES
    """Looked at in this order."""
    detector: LoopDetector = field(default_factory=LoopDetector.escalating)
    """Finds the loops."""
    prices: Optional[Prices] = None
    """The prices of tokens, for recordings without costs."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_detector("detector must be", self.detector)
        remedy = "change those of RULES with with_rule and without"
        check_kind("rules must be a tuple of HealthRule", self.rules, (tuple, list), remedy)
        for at, rule in enumerate(self.rules):
            check_kind(f"rules[{at}] must be a HealthRule", rule, HealthRule, remedy)
        names = [rule.name for rule in self.rules]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise ValueError(f"there are two rules {twice[0]!r}; with_rule changes one")

    def literal(self) -> "HealthProfile":
        """Return the same numbers for the literal table: without evidence and recovery."""
        return replace(self, needs_evidence=False, recovery=0.0, spike_after=0)

    def with_rule(self, name: str, **changes: Any) -> "HealthProfile":
        """Change fields of one rule, e.g. ``penalty``, ``threshold`` or ``window``.

        Raises:
            ValueError: if the rule does not exist.
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
            ValueError: if the rule does not exist.
        """
        for name in names:
            self._require(name)
        return replace(self, rules=tuple(rule for rule in self.rules if rule.name not in names))

    def _require(self, name: str) -> None:
        names = [rule.name for rule in self.rules]
        if name not in names:
            raise ValueError(f"no rule {name!r}; there are {', '.join(names)}")


def check_profile(given: Any) -> None:
    """Raise TypeError for anything but a `HealthProfile` or None."""
    kinds = (HealthProfile, type(None))
    check_kind("profile must be a HealthProfile or None", given, kinds, "pass HealthProfile(...)")
