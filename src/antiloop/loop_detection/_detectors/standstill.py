"""A stretch of the run in which nothing is new, in whatever order its calls come."""

from collections import Counter
from typing import List, Optional, Tuple

from ...stability import beta
from .._detection import LoopDetection
from .._evidence.outcome import REFUSED
from .._evidence.round import JudgedCall
from .._evidence.window import Window
from .base import ThresholdDetector, detection


@beta
class StandstillDetector(ThresholdDetector):
    """Find a long stretch of rounds in which every call with its result comes at least twice.

    A circuit breaker below other detectors: it needs no order. Laps of any length, laps that
    overlap and calls that come at random all count as long as each call with its result comes
    again within the stretch. One new call, or one new result, begins another stretch.

    Args:
        threshold: rounds in the stretch, 2 or more. If one of its tools has a higher threshold,
            that one counts.

    Raises:
        ValueError: if threshold is below 2.

    >>> from antiloop import ToolCall
    >>> calls = [ToolCall(name) for name in "aabaab"]
    >>> StandstillDetector(6).check(calls, ["same"] * 6).message
    '6 rounds in a row brought nothing new.'
    """

    name = "standstill"
    ignores_new_rounds = True

    def __init__(self, threshold: int = 30) -> None:
        super().__init__(threshold)

    def find(self, window: Window) -> Optional[LoopDetection]:
        """Count how often each call with its result comes in the last rounds."""
        if len(window.rounds) < window.lowest(self.name, self.threshold):
            return None
        tools = {item.tool for item in window.rounds[-1].evidence}
        # A tool with more patience than the others lends it to the whole stretch, since its calls
        # are the ones that may be waiting.
        needed = max(self._needed_of(window, tool) for tool in tools)
        rounds = window.rounds[-needed:]
        stretch = [item for passed in rounds for item in passed.evidence]
        counts = Counter(map(_pair, stretch))
        # Twice is enough, because all calls and answers of the stretch must come again.
        if len(rounds) < needed or min(counts.values()) < 2:
            return None
        return self._detection(stretch, needed)

    def _detection(self, stretch: List[JudgedCall], rounds: int) -> LoopDetection:
        lap = list({item.call: item for item in stretch}.values())
        return detection(
            self.name,
            f"{rounds} rounds in a row brought nothing new.",
            stretch,
            period=max(1, rounds * len(lap) // len(stretch)),
            lap=lap,
            details={"tool": lap[-1].tool, "count": rounds},
        )


def _pair(item: JudgedCall) -> Tuple[str, Optional[str]]:
    """Return a call with its result; refusals are alike, though each one counts the calls again."""
    features = item.features
    return features.call, None if features.outcome is REFUSED else features.result
