"""The same change applied again and again, although each answer looks new."""

from typing import List, Optional

from ..._checks import check_threshold
from ...stability import beta
from .._detection import LoopDetection
from .._evidence.round import JudgedCall
from .._evidence.window import Window
from .base import WindowDetector, detection


@beta
class NoEffectDetector(WindowDetector):
    """Find a call that changes the world in the same way in consecutive rounds.

    Inserting the same text into a growing file returns a new answer each time, and sending the same
    message again returns a new message id. Results that differ only in numbers and ids, or that
    show the same lines more often, are not new if the tool itself causes the difference. Only tools
    that change something count, because for a reading tool the numbers are the answer.

    Args:
        threshold: consecutive rounds with the call, 2 or more.

    Raises:
        ValueError: if threshold is below 2.
    """

    name = "no_effect"
    ignores_new_rounds = True

    def __init__(self, threshold: int = 3) -> None:
        check_threshold("threshold", threshold)
        self.threshold = threshold
        self.span: int = threshold

    def find(self, window: Window) -> Optional[LoopDetection]:
        """Check the streak of each call of the last round that changes something."""
        if len(window.rounds) < window.lowest(self.name, self.threshold):
            return None
        # In a row only: after other work, the same change may be right again.
        previous = window.rounds[-2].calls
        for item in window.rounds[-1].sorted_evidence:
            features = item.features
            # A key that is pressed again leads further.
            changes = features.mutates and not features.moves
            if features.call in previous and features.result is not None and changes:
                streak = self._streak(window, item)
                needed = window.threshold(self.name, features.tool, self.threshold)
                if len(streak) >= needed:
                    return self._detection(streak)
        return None

    def _streak(self, window: Window, latest: JudgedCall) -> List[JudgedCall]:
        streak: List[JudgedCall] = []
        for passed in reversed(window.rounds):
            item = passed.calls.get(latest.features.call)
            # The file grows and the id of the message counts up, so numbers and lines that came
            # before are left out. Another template is another effect.
            if item is None or item.features.template != latest.features.template:
                break
            streak.append(item)
        streak.reverse()
        return streak

    def _detection(self, streak: List[JudgedCall]) -> LoopDetection:
        features, count = streak[-1].features, len(streak)
        return detection(
            self.name,
            f"Tool {features.tool!r} applied the same change {count} times in a row.",
            streak,
            times=f" {count} times in a row, each the same change",
            details={"tool": features.tool, "count": count, "arguments": features.shown.value},
        )
