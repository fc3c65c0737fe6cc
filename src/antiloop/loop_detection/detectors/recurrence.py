"""The same call coming back, with other calls in between."""

from typing import List, Optional

from ...stability import beta
from ..detection import LoopDetection
from ..evidence.call_features import CallFeatures
from ..evidence.judged_call import JudgedCall
from ..evidence.outcome import WAITING
from ..evidence.sameness import differ
from ..evidence.streak import streak_of
from ..evidence.window import Window
from ..threshold import check_flag, check_threshold
from .base import WindowDetector, detection


@beta
class RecurrenceDetector(WindowDetector):
    """Find a call that comes back with the same result while little else is new.

    A count of consecutive calls is reset by any call in between, and most real loops have some.
    Here other calls may come between, if two conditions hold: the rounds with new results are not
    more than the returns of the call, and nothing in between made a new change. An edit between two
    runs of the same test is progress; a read is not. A call that succeeds silently does not count.
    Nothing is reported while another call of the same round brings something new.

    Args:
        threshold: rounds with the call, 2 or more.
        patience: rounds needed if the result says that work is in progress; by default the
            threshold.
        leave_cycles: leave two alternating rounds to `PingPongDetector`, and report them one lap
            later, unless the other round brings something new.

    Raises:
        ValueError: if threshold is below 2, or patience below the threshold.
    """

    name = "recurrence"
    look_back = 50
    ignores_new_rounds = True

    def __init__(
        self,
        threshold: int = 4,
        *,
        patience: Optional[int] = None,
        leave_cycles: bool = False,
    ) -> None:
        check_threshold("threshold", threshold)
        self.threshold = threshold
        self.patience = threshold if patience is None else patience
        check_threshold("patience", self.patience, threshold)
        check_flag("leave_cycles", leave_cycles)
        self.leave_cycles = leave_cycles
        self.span = self.patience

    def find(self, window: Window) -> Optional[LoopDetection]:
        """Find earlier calls equal to those of the last round; report the most frequent."""
        longest: List[JudgedCall] = []
        for item in window.rounds[-1].sorted_evidence if window.rounds else ():
            if item.is_new or not item.features.outcome.says_something:
                continue
            needed = self._needed(window, item.features)
            has_come = window.tally.came(item.features) >= needed
            if has_come and not window.rounds[-1].brings_news(beside=item.features.call_key):
                streak = self._streak(window, item.features)
                needed += self.leave_cycles and _is_alternation(window, needed)
                if len(streak) >= max(needed, len(longest) + 1):
                    longest = streak
        return self._detection(longest) if longest else None

    def _streak(self, window: Window, latest: CallFeatures) -> List[JudgedCall]:
        return streak_of(
            window,
            lambda item: (
                item.features.call_key == latest.call_key
                and not (item.is_unseen or differ(latest, item.features))
            ),
            lambda item: item.features.call_key == latest.call_key,
        )

    def _needed(self, window: Window, features: CallFeatures) -> int:
        usual = self.patience if features.outcome is WAITING else self.threshold
        return window.threshold(self.name, features.tool, usual)

    def _detection(self, streak: List[JudgedCall]) -> LoopDetection:
        features, count = streak[-1].features, len(streak)
        return detection(
            self.name,
            f"Tool {features.tool!r} was called {count} times with the same arguments; "
            "nothing new came back.",
            streak,
            details={"tool": features.tool, "count": count, "arguments": features.shown.value},
            is_certain=False,
        )


def _is_alternation(window: Window, count: int) -> bool:
    """Whether two rounds alternate at the end, the last one `count` times.

    If the other one brings something new, `PingPongDetector` does not find a cycle.
    """
    latest = window.rounds[1 - 2 * count :]
    if any(item.brings_news for passed in latest[-2:-1] for item in passed.evidence):
        return False
    calls = [passed.signature for passed in latest]
    return len(calls) == 2 * count - 1 and len(set(calls[::2])) == len(set(calls[1::2])) == 1
