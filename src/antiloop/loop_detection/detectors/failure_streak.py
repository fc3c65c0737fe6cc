"""The same failure under changing arguments, and calls that come to nothing one after the other."""

from dataclasses import replace
from typing import Callable, List, Optional, Tuple

from ...stability import beta
from ...threshold import check_threshold
from ..detection import LoopDetection
from ..evidence.call_features import CallFeatures
from ..evidence.judged_call import JudgedCall
from ..evidence.outcome import Outcome
from ..evidence.refusal import whole_tool
from ..evidence.sameness import say_alike
from ..evidence.window import Window
from .base import WindowDetector, detection, times

PATIENCE = 12
"""Rounds with the same answer where it is no failure."""
ROW_SPACING = 3
"""Rounds after which a row of any tools is found again."""
_Told = Tuple[Optional[str], ...]
FRESH_PER_MATCH = 0.25
"""New things allowed for each failure: an agent that learns something else is not stuck."""


@beta
class FailureStreakDetector(WindowDetector):
    """Find a tool that fails in the same way whatever it is asked, or calls that all fail.

    Two failures are the same if they say the same apart from numbers and from what only echoes the
    arguments: "ticket 1000 not found", "ticket 1001 not found". A long answer that is the same to
    the letter counts as well: it acknowledges nothing, and was read before. Whatever the tool, a
    row of rounds that failed, found nothing or told what was known is a streak too; rounds that are
    neither that nor new are passed over. To refuse the calls of such a row would be in vain, as the
    next ones are other calls: the ladder takes its last action instead.
    An answer with less left to do than the one before, as fewer failed tests, is a step forward,
    and begins a streak anew.

    With `patience`, more rounds make a streak of answers that are no failures: a tool that finds
    nothing whatever it is asked, and one that asks to come back later.

    Args:
        threshold: rounds with the same failure of one tool, with at most one new thing to four of
            them, 2 or more.
        patience: rounds with the same answer of one tool that finds nothing or asks to wait;
            12 where left out, or the threshold if that is more.
        in_a_row: rounds that came to nothing, whatever the tool, 2 or more. Such a row is weaker
            evidence, so it is found again only three rounds later, and where one thing after the
            other was looked for and not found, after twice the row.
        repeats: rounds of such a row that must say what an earlier one said, the last one among
            them, 0 or more; a row of twice the length needs none. An agent whose attempts all fail
            differently explores.

    Raises:
        ValueError: if a number is below 2, or patience below the threshold.
    """

    name = "failure_streak"
    look_back = 50

    def __init__(
        self,
        threshold: int = 4,
        *,
        in_a_row: int = 5,
        repeats: int = 0,
        patience: Optional[int] = None,
    ) -> None:
        check_threshold("threshold", threshold)
        check_threshold("in_a_row", in_a_row)
        check_threshold("repeats", repeats, 0)
        self.threshold = threshold
        self.in_a_row = in_a_row
        self.repeats = repeats
        self.patience = max(PATIENCE, threshold) if patience is None else patience
        check_threshold("patience", self.patience, threshold)
        self.span = max(threshold, in_a_row)

    def find(self, window: Window) -> Optional[LoopDetection]:
        """Look back from the failures of the last round."""
        is_unproductive = bool(window.rounds)
        for item in window.rounds[-1].siblings if is_unproductive else ():
            if _is_fruitless(item):
                streak = self._same_failure(window, item.features)
                if len(streak) >= self._needed(window, item.features):
                    return self._of_one_tool(streak)
            is_unproductive = is_unproductive and item.is_unproductive
        if is_unproductive:
            row = window.streak(lambda item: item.is_unproductive, fresh_per_match=0.0)
            if self._is_enough(row):
                return self._of_any_tool(row)
        return None

    def _is_enough(self, row: List[JudgedCall]) -> bool:
        """Whether a row of any tools is long enough, and says the same often enough."""
        if len(row) < self.in_a_row or len(row) >= 2 * self.in_a_row or not self.repeats:
            return len(row) >= self.in_a_row
        repeats = _repeats(row, _told)
        # A failure in new words is news: it may be the first step of another way.
        return repeats >= self.repeats and repeats > _repeats(row[:-1], _told)

    def _same_failure(self, window: Window, latest: CallFeatures) -> List[JudgedCall]:
        return window.streak(
            lambda item: item.features.tool == latest.tool and say_alike(item.features, latest),
            fresh_per_match=FRESH_PER_MATCH,
        )

    def _needed(self, window: Window, features: CallFeatures) -> int:
        usual = self.threshold if features.outcome.is_failure or features.is_long else self.patience
        if (
            features.outcome is Outcome.EMPTY
        ):  # it says so itself: twice a row of any kind is enough
            usual = min(usual, max(self.threshold, 2 * self.in_a_row))
        return window.threshold(self.name, features.tool, usual)

    def _of_one_tool(self, streak: List[JudgedCall]) -> LoopDetection:
        features, count = streak[-1].features, len(streak)
        waits = features.outcome is Outcome.WAITING
        what = "asked to come back later" if waits else "gave the same fruitless answer"
        return detection(
            self.name,
            f"Tool {features.tool!r} {what} {times(count)}.",
            streak,
            identity=(
                features.tool,
                features.wording if features.outcome.counts_down else _said(features),
            ),
            refused=whole_tool(features),
            details={"tool": features.tool, "count": count, "result_hash": features.result},
        )

    def _of_any_tool(self, row: List[JudgedCall]) -> LoopDetection:
        tools = list(dict.fromkeys(item.features.tool for item in row))
        found = detection(
            self.name,
            f"The last {len(row)} rounds failed, found nothing or repeated what was known.",
            row,
            period=self.in_a_row,
            identity=("any",),
            refused=(),
            details={"tool": tools[-1], "tools": tools, "count": len(row)},
        )
        is_firm = _repeats(row, _told_exactly) >= self.repeats
        return replace(found, spacing=ROW_SPACING if is_firm else 2 * self.in_a_row)


def _is_fruitless(item: JudgedCall) -> bool:
    """Whether an answer may be one of a streak of one tool."""
    features, kind = item.features, item.features.outcome
    if kind is Outcome.SUCCESS or features.is_long:
        return kind.is_failure or (features.is_long and not item.is_fresh)
    if kind is Outcome.WAITING:
        return not (features.is_polled or item.is_change)
    return (
        kind.is_failure or kind is Outcome.EMPTY or (kind is Outcome.SILENT and features.only_looks)
    )


def _repeats(row: List[JudgedCall], told_by: Callable[[CallFeatures], _Told]) -> int:
    """Count the rounds that say what an earlier round of the row said."""
    told = [told_by(item.features) for item in row]
    return sum(
        item.is_known or said in told[:place] for place, (item, said) in enumerate(zip(row, told))
    )


def _told(features: CallFeatures) -> _Told:
    """Give what a round says: a failure in its words, or that a tool found nothing."""
    kind = features.outcome
    if kind.is_failure:
        return kind.value, features.wording
    return kind.value, features.tool, features.result if kind.says_something else None


def _told_exactly(features: CallFeatures) -> _Told:
    """Give what a round says, told apart also by what was looked for."""
    is_failure = features.outcome.is_failure
    return _told(features) if is_failure else (*_told(features), features.near)


def _said(features: CallFeatures) -> Optional[str]:
    """Give what tells the streaks of one tool apart: all ways to find nothing are one."""
    return features.result if features.outcome.says_something else features.outcome.value
