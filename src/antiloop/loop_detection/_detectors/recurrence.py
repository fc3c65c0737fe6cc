"""The same call coming back, with other calls in between."""

from dataclasses import replace
from typing import List, Optional

from ..._checks import check_flag
from ...stability import beta
from .._detection import LoopDetection
from .._evidence.call_features import CallFeatures
from .._evidence.outcome import EMPTY, SILENT, WAITING
from .._evidence.round import JudgedCall
from .._evidence.sameness import acknowledges, differ
from .._evidence.streak import is_amid_acts, is_paced, is_part_of_poll, rounds_needed, streak_of
from .._evidence.window import Window
from .base import ThresholdDetector, detection, eased, patience_of, spaced, weaker_count

_NOTHING_ELSE = (SILENT, WAITING)  # evidence only where nothing at all was new


@beta
class RecurrenceDetector(ThresholdDetector):
    """Find a call that comes back with the same result while little else is new.

    A count of consecutive calls is reset by any call in between, and most real loops have some.
    Here other calls may come between, if two conditions hold: the rounds with new results are not
    more than the returns of the call, and nothing in between made a new change. An edit between two
    runs of the same test is progress; a read is not. A call that succeeds silently does not count.
    Nothing is reported while another call of the same round brings something new.

    Args:
        threshold: rounds with the call, 2 or more.
        patience: rounds needed if the calls wait for work elsewhere, or lead further each time;
            by default the threshold.
        patience_s: seconds that calls may wait without news, instead of rounds, where the run says
            when they were made or how long they took; by default rounds decide.
        unseen: rounds needed if no result is known; by default the threshold.
        leave_cycles: leave two alternating rounds to `PingPongDetector`, and report them one lap
            later, unless the other round brings something new.

    Raises:
        ValueError: if threshold is below 2, or patience or unseen below the threshold.
    """

    name = "recurrence"
    look_back = 50
    ignores_new_rounds = True

    def __init__(
        self,
        threshold: int = 4,
        *,
        patience: Optional[int] = None,
        patience_s: Optional[int] = None,
        unseen: Optional[int] = None,
        leave_cycles: bool = False,
    ) -> None:
        super().__init__(threshold)
        self.patience: int = patience_of(threshold, patience, patience_s)
        self.patience_s = patience_s
        self.unseen: int = weaker_count("unseen", unseen, threshold)
        check_flag("leave_cycles", leave_cycles)
        self.leave_cycles = leave_cycles
        self.span: int = self.patience

    def find(self, window: Window) -> Optional[LoopDetection]:
        """Find earlier calls equal to those of the last round; report the most frequent."""
        longest: List[JudgedCall] = []
        for item in window.rounds[-1].sorted_evidence if window.rounds else ():
            # A search in vain that comes back is a matter of `failure_streak`, which knows how many
            # are too many.
            if item.is_new or item.outcome is EMPTY:
                continue
            least = self._needed_of(window, item.tool)
            # Counting comes first: most calls of a healthy run come once or twice.
            has_come = window.occurrences.came(item.features) >= least
            if has_come and not window.rounds[-1].brings_news_beside(item.call):
                streak = self._streak(window, item.features)
                if len(streak) > len(longest) and self._is_enough(window, streak):
                    longest = streak
        if not longest:
            return None
        return spaced(eased(self._detection(longest), window, self, longest), window, longest)

    def _streak(self, window: Window, latest: CallFeatures) -> List[JudgedCall]:
        return streak_of(
            window,
            lambda item: (
                item.call == latest.call
                # Some tools run at the provider and never show their results: beside a sibling with
                # news they say nothing.
                and not (item.is_unseen or differ(latest, item.features))
            ),
            # The same call with another answer has brought something, so what came before no longer
            # counts. What a look shows after a new act may be unknown.
            lambda item: (
                item.call == latest.call
                or (latest.result is None and item.is_new and acknowledges(item.features))
            ),
            fresh_per_match=_fresh_per_match(latest),
        )

    def _is_enough(self, window: Window, streak: List[JudgedCall]) -> bool:
        needed = self._needed(window, streak)
        # `PingPongDetector` names both calls, and a block then refuses both.
        needed += self.leave_cycles and _is_alternation(window, needed)
        # What is looked at between waits is part of waiting, which is judged by itself.
        if len(streak) < needed or is_paced(window, streak):
            return False
        return not is_amid_acts(window, streak)

    def _needed(self, window: Window, streak: List[JudgedCall]) -> int:
        # Where screenshots are not recorded, the keys and clicks of healthy work repeat as well;
        # with three rounds, desktop agents were stopped at work.
        is_unseen = all(item.result is None for item in streak)
        usual = self.unseen if is_unseen else self.threshold
        usual = rounds_needed(self, streak, usual)
        if len(streak) >= usual == self.threshold and is_part_of_poll(window, streak, usual):
            usual = self.patience
        return window.threshold(self.name, streak[-1].tool, usual)

    def _detection(self, streak: List[JudgedCall]) -> LoopDetection:
        features, count = streak[-1].features, len(streak)
        found = detection(
            self.name,
            f"Tool {features.tool!r} was called {count} times with the same arguments; "
            "nothing new came back.",
            streak,
            times=f" {count} times; nothing new came back",
            details={"tool": features.tool, "count": count, "arguments": features.shown.value},
            is_certain=False,
        )
        # "ok" to `approve`, after each new item, is work; to refuse it would break that.
        return replace(found, refused=(), may_end_run=False) if acknowledges(features) else found


def _fresh_per_match(latest: CallFeatures) -> float:
    """Return how many rounds may bring something new for each return of a call."""
    if latest.moves or latest.outcome in _NOTHING_ELSE:
        return 0.0
    # A key that is pressed again after other keys is work, as far as calls alone can tell.
    return 1.0 if latest.result is not None else 0.5


def _is_alternation(window: Window, count: int) -> bool:
    """Whether two rounds alternate at the end, the last one `count` times.

    If the other one brings something new, `PingPongDetector` does not find a cycle.
    """
    # The last of these rounds is the `count`-th of its kind, and its lap is not complete: the next
    # round would complete the cycle for `PingPongDetector`.
    latest = window.rounds[1 - 2 * count :]
    if any(item.brings_news for passed in latest[-2:-1] for item in passed.evidence):
        return False
    calls = [passed.fingerprints for passed in latest]
    return len(calls) == 2 * count - 1 and len(set(calls[::2])) == len(set(calls[1::2])) == 1
