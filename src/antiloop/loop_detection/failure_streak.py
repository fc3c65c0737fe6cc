"""The same failure under changing arguments, and calls that fail one after the other."""

from typing import List, Optional

from ..stability import beta
from .base import WindowDetector, check_threshold, detection, times
from .detection import LoopDetection
from .evidence import Evidence, Facts
from .window import Window


@beta
class FailureStreakDetector(WindowDetector):
    """Find a tool that fails in the same way whatever it is asked, or calls that all fail.

    Two failures are the same if they say the same apart from numbers and from what only echoes the
    arguments: "ticket 1000 not found", "ticket 1001 not found".

    Args:
        threshold: rounds with the same failure of one tool while little else is new, 2 or more.
        in_a_row: rounds one after the other in which every call is fruitless, whatever the tool.

    Raises:
        ValueError: if a number is below 2.
    """

    name = "failure_streak"

    def __init__(self, threshold: int = 4, *, in_a_row: int = 8, every: int = 2) -> None:
        check_threshold("threshold", threshold)
        check_threshold("every", every, 1)
        self.every = every
        check_threshold("in_a_row", in_a_row)
        self.threshold = threshold
        self.in_a_row = in_a_row
        self.span = max(threshold, in_a_row)

    def find(self, window: Window) -> Optional[LoopDetection]:
        """Look back from the failures of the last round."""
        last = window.rounds[-1].evidence if window.rounds else []
        for item in last:
            if item.facts.outcome.is_failure or (item.facts.is_long and not item.is_fresh):
                spell = self._spell(window, item.facts)
                beyond = len(spell) - self._needed(window, item.facts)
                if beyond >= 0 and beyond % self.every == 0:
                    return self._same_failure(spell)
        if last and all(item.facts.outcome.is_fruitless for item in last):
            row = self._row(window)
            if len(row) >= self.in_a_row:
                return self._all_fruitless(row)
        return None

    def _spell(self, window: Window, latest: Facts) -> List[Evidence]:
        return window.spell(
            lambda facts: facts.tool == latest.tool and _fail_alike(facts, latest),
            lambda facts: False,
        )

    def _row(self, window: Window) -> List[Evidence]:
        row: List[Evidence] = []
        for passed in reversed(window.rounds):
            if not all(item.facts.outcome.is_fruitless for item in passed.evidence):
                break
            row.append(passed.evidence[-1])
        row.reverse()
        return row

    def _needed(self, window: Window, facts: Facts) -> int:
        return window.policy(facts.tool).thresholds.get(self.name, self.threshold)

    def _same_failure(self, spell: List[Evidence]) -> LoopDetection:
        facts, count = spell[-1].facts, len(spell)
        return detection(
            self.name,
            f"Tool {facts.tool!r} failed in the same way {times(count)}.",
            spell,
            identity=(facts.tool, facts.gist if facts.outcome.is_failure else facts.result),
            details={"tool": facts.tool, "count": count, "result_hash": facts.result},
        )

    def _all_fruitless(self, row: List[Evidence]) -> LoopDetection:
        tools = list(dict.fromkeys(item.facts.tool for item in row))
        return detection(
            self.name,
            f"The last {len(row)} calls all failed or found nothing.",
            row,
            identity=("any",),
            details={"tool": tools[-1], "tools": tools, "count": len(row)},
        )


def _fail_alike(one: Facts, other: Facts) -> bool:
    if one.result == other.result:
        return True
    return one.outcome.is_failure and other.outcome.is_failure and one.gist == other.gist
