"""A call that keeps failing in the same way, despite changes in between."""

from typing import List, Optional

from ...stability import beta
from .._detection import LoopDetection
from .._evidence.round import JudgedCall
from .._evidence.sameness import say_alike
from .._evidence.window import Window
from .base import ThresholdDetector, detection

# Other tests may fail than before, behind the same count.
_COARSE = 3  # times as many rounds, where an answer does little more than count what is left


@beta
class PersistentFailureDetector(ThresholdDetector):
    """Find a call that keeps failing with the same text, despite other work between its attempts.

    An agent that edits a file, runs the same check and reads the same error again seems to work,
    because each edit is new. If the answer of the check stays the same after several edits, the
    edits miss the cause. Any other answer to the call restarts the count, even one with less left
    to do. "2 failed" is weak evidence, because other tests may fail than before: an answer of a
    line or two that counts what is left to do needs three times as many rounds.

    Args:
        threshold: rounds in which the call failed with the same text, 2 or more.

    Raises:
        ValueError: if threshold is below 2.
    """

    name = "persistent_failure"
    look_back = 50
    ignores_new_rounds = True

    def __init__(self, threshold: int = 5) -> None:
        super().__init__(threshold)

    def find(self, window: Window) -> Optional[LoopDetection]:
        """Look back from the calls of the last round that failed; the most frequent is reported."""
        longest: List[JudgedCall] = []
        for item in window.rounds[-1].sorted_evidence if window.rounds else ():
            features = item.features
            # A check that passes in the same words each time is how it should be.
            if not features.outcome.is_failure:
                continue
            needed = self._needed_of(window, features.tool)
            if window.occurrences.came(features) >= needed:
                # A report of several lines names the tests, so an equal one is the same failure.
                needed *= 1 if features.left is None or features.is_page else _COARSE
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
            times=f" {count} times, failing alike whatever was changed in between",
            details={"tool": features.tool, "count": count, "arguments": features.shown.value},
            is_certain=False,
        )


def _attempts(window: Window, latest: JudgedCall) -> List[JudgedCall]:
    """Return the rounds with this call since its last other answer, oldest first."""
    found: List[JudgedCall] = []
    features = latest.features
    for passed in reversed(window.rounds):
        item = passed.calls.get(features.call)
        if item is None:
            continue
        # Another answer shows that an edit had an effect, even one for the worse.
        if not say_alike(item.features, features):
            break
        found.append(item)
        if item.is_step_forward:
            break
    found.reverse()
    return found
