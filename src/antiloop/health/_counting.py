"""Counting what is the same, and the warnings that follow."""

from collections import deque
from dataclasses import dataclass, field
from typing import Deque, Dict, Hashable, Iterable, Optional, Tuple

from .._latest import Latest
from .._text.masking import Masking
from .._text.shortening import visible
from ._profile import HealthProfile
from ._report import HealthWarning
from ._rules import HealthRule
from ._run_so_far import REMEMBERED

Item = Tuple[int, int]
"""One counted call or event: its number among those of the run, and the step that it speaks of."""

_LONG = 2_000
"""Characters of a message that is shortened at once: a rule may quote a whole result."""


@dataclass
class Hits:
    """Hold the calls or events that count under one name of a rule."""

    count: int
    """The number of them; with a window, the number within it."""
    items: "Deque[Item]"
    """The latest of them: as many as the threshold, or those within the window."""


class RuleCounter:
    """Counts for one rule."""

    def __init__(self, rule: HealthRule) -> None:
        self.rule = rule
        self._hits: Latest[Hashable, Hits] = Latest(REMEMBERED)

    def add(self, key: Hashable, item: Item) -> Optional[Hits]:
        """Count an item under a name; return the hits if it is enough for a warning."""
        rule = self.rule
        hits = self._hits.get(key)
        if hits is None:
            hits = Hits(0, deque(maxlen=rule.window or rule.threshold))
        self._hits[key] = hits
        hits.items.append(item)
        hits.count += 1
        if rule.window is not None:
            while hits.items[0][1] <= item[1] - rule.window:
                hits.items.popleft()
            hits.count = len(hits.items)
        return hits if hits.count >= rule.threshold else None


@dataclass(eq=False)
class RaisedWarning:
    """A warning while its run goes on."""

    rule: HealthRule
    quiet_rounds: int = 0
    """Rounds with something new since it last grew."""
    _items: Dict[int, int] = field(default_factory=dict)
    _first_steps: Latest[Hashable, int] = field(default_factory=lambda: Latest(REMEMBERED))
    _count: int = 0
    _step: int = 0
    _message: str = ""
    _masking: Optional[Masking] = None

    def grow(self, key: Hashable, hits: Hits, step: int) -> bool:
        """Take in what was counted; return whether this is the worst yet and must be reported."""
        self.quiet_rounds = 0
        self._items.update(hits.items)
        self._first_steps[key] = first = self._first_steps.get(key, step)
        if hits.count <= self._count:
            return False
        self._step, self._count = first, hits.count
        return True

    def tell(self, message: str, masking: Masking) -> None:
        """Set the message; names in it are untrusted, and masked when it is shown."""
        self._message, self._masking = message, masking
        if len(message) > _LONG:
            self._mask()

    def is_open(self, profile: HealthProfile) -> bool:
        """Whether it goes on."""
        return not self.rule.can_end or self.quiet_rounds < profile.recovery_rounds

    def warning(self, profile: HealthProfile, calls: int, *, is_charged: bool) -> HealthWarning:
        """Return the warning as of now.

        Args:
            profile: says what is given back.
            calls: of the run up to now.
            is_charged: whether its penalty is taken; by another warning, if not.
        """
        rule = self.rule
        penalty = rule.penalty if is_charged else 0
        is_open = self.is_open(profile)
        return HealthWarning(
            rule.name,
            self._whole_message(),
            rule.why,
            rule.suggestion,
            max(0, min(self._step, calls - 1)),
            _steps(self._items.values(), calls),
            len(self._items),
            penalty if is_open else penalty * (1 - profile.recovery),
            is_open,
        )

    def _whole_message(self) -> str:
        """Add how many calls it is about, where what was found last is only a part of them."""
        self._mask()
        if not self.rule.is_finding or len(self._items) <= self._count:
            return self._message
        return f"{self._message} {len(self._items):,} calls in all."

    def _mask(self) -> None:
        if self._masking is not None:
            self._message, self._masking = visible(self._masking.text(self._message)), None


def _steps(steps: Iterable[int], calls: int) -> Tuple[int, ...]:
    """Return the steps in order, each once; a later one counts as that of the last call."""
    return tuple(sorted({min(step, calls - 1) for step in steps})) if calls else ()
