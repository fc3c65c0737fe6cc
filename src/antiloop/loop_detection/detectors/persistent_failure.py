"""A call that keeps failing in the same way, despite changes in between."""

from typing import List, Optional

from ...stability import beta
from ..detection import LoopDetection
from ..evidence.judged_call import JudgedCall
from ..evidence.sameness import say_alike
from ..evidence.window import Window
from ..threshold import check_threshold
from .base import WindowDetector, detection

_COARSE = 3  # times as many rounds, where an answer only counts what is left to do


@beta
class PersistentFailureDetector(WindowDetector):
    """Find a call that keeps failing with the same text, despite other work between its attempts.

    An agent that edits a file, runs the same check and reads the same error again seems to work,
    because each edit is new. If the answer of the check stays the same after several edits, the
    edits miss the cause. Any other answer to the call restarts the count, even one with less left
    to do. "2 failed" is weak evidence, because other tests may fail than before: an answer that
    counts what is left to do needs three times as many rounds.

    Args:
        threshold: rounds in which the call failed with the same text, 2 or more.

    Raises:
        ValueError: if threshold is below 2.
    """

    name = "persistent_failure"
    look_back = 50
    ignores_new_rounds = True

    def __init__(self, threshold: int = 5) -> None:
        check_threshold("threshold", threshold)
        self.threshold = threshold
        self.span = threshold

    def find(self, window: Window) -> Optional[LoopDetection]:
        """Look back from the calls of the last round that failed; the most frequent is reported."""
        longest: List[JudgedCall] = []
        for item in window.rounds[-1].sorted_evidence if window.rounds else ():
            features = item.features
            if not features.outcome.is_failure:
                continue
            needed = window.threshold(self.name, features.tool, self.threshold)
            if window.tally.came(features) >= needed:
                needed *= 1 if features.left is None else _COARSE
                attempts = _attempts(window, item)
                if len(attempts) >= max(needed, len(longest) + 1):
                    longest = attempts
        return self._detection(longest) if longest else None

    def _detection(self, attempts: List[JudgedCall]) -> LoopDetection:
        features, count = attempts[-1].features, len(attempts)
        return detection(
            self.name,
            f"Tool {features.tool!r} was called {count} times with the same arguments and failed "
            "in the same way, whatever was changed in between.",
            attempts,
            details={"tool": features.tool, "count": count, "arguments": features.shown.value},
            is_certain=False,
        )


def _attempts(window: Window, latest: JudgedCall) -> List[JudgedCall]:
    """Return the rounds with this call since its last other answer, oldest first."""
    found: List[JudgedCall] = []
    features = latest.features
    for passed in reversed(window.rounds):
        item = passed.calls.get(features.call_key)
        if item is None:
            continue
        if not say_alike(item.features, features):
            break
        found.append(item)
        if item.is_step_forward:
            break
    found.reverse()
    return found
