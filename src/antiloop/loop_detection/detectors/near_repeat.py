"""Calls that differ only in noise, and come to nothing in the same way."""

from typing import List, Optional

from ...stability import beta
from ...threshold import check_threshold
from ..detection import LoopDetection
from ..evidence.evidence import Facts
from ..evidence.judged_call import Evidence
from ..evidence.outcome import Outcome
from ..evidence.refusal import near_key
from ..evidence.sameness import say_alike
from ..evidence.window import Window
from .base import WindowDetector, detection, times


@beta
class NearRepeatDetector(WindowDetector):
    """Find calls whose arguments differ only in what is cosmetic, with the same result.

    Cosmetic are a fresh request id, the order, plural and repetition of words, a number sent as
    text, and all that follows the no-op of a shell. Near is not similar: two paths with a long
    common prefix are two paths. The cost is that of one more fingerprint, whatever the length of
    the window.

    Args:
        threshold: rounds with such a call while little else is new, 2 or more.

    Raises:
        ValueError: if threshold is below 2.
    """

    name = "near_repeat"
    look_back = 50

    def __init__(self, threshold: int = 4, *, patience: Optional[int] = None) -> None:
        check_threshold("threshold", threshold)
        self.threshold = threshold
        self.patience = threshold if patience is None else patience
        check_threshold("patience", self.patience, threshold)
        self.span = self.patience

    def find(self, window: Window) -> Optional[LoopDetection]:
        """Look for earlier calls that are nearly those of the last round."""
        for item in window.rounds[-1].evidence if window.rounds else ():
            needed = window.policy(item.facts.tool).thresholds.get(self.name, self.threshold)
            if self._is_evidence(window, item, needed):
                spell = self._spell(window, item.facts)
                if item.facts.outcome is Outcome.WAITING:
                    needed = max(needed, self.patience)
                if len(spell) >= needed:
                    return self._detection(spell)
        return None

    def _is_evidence(self, window: Window, item: Evidence, needed: int) -> bool:
        """Look at what is cheap to know first: it settles most steps of a healthy run."""
        kind = item.facts.outcome
        if kind.is_failure or kind is Outcome.EMPTY:
            return True
        if kind is not Outcome.SILENT and window.times_answered(item.facts) < needed:
            return False
        # Two edits in the same words are two edits.
        return item.facts.result is not None and not item.facts.changes_world

    def _spell(self, window: Window, latest: Facts) -> List[Evidence]:
        # Silence tells nothing: it is evidence only where nothing at all was new.
        slack = 0.0 if latest.outcome is Outcome.SILENT else 1.0
        return window.spell(lambda item: _is_near(item.facts, latest), slack=slack)

    def _detection(self, spell: List[Evidence]) -> LoopDetection:
        facts, count = spell[-1].facts, len(spell)
        return detection(
            self.name,
            f"Tool {facts.tool!r} was called {times(count)} with nearly the same arguments.",
            spell,
            identity=(facts.tool, facts.near),
            refused=(near_key(facts),),
            details={"tool": facts.tool, "count": count, "arguments": facts.arguments},
        )


def _is_near(one: Facts, other: Facts) -> bool:
    if one is other:
        return True
    return one.tool == other.tool and say_alike(one, other) and one.near == other.near
