"""The same failure under changing arguments, and rows of unproductive calls."""

from dataclasses import replace
from typing import Callable, List, Optional

from ...stability import beta
from ..detection import LoopDetection
from ..evidence.call_features import CallFeatures
from ..evidence.judged_call import JudgedCall
from ..evidence.outcome import EMPTY, SILENT, SUCCESS, WAITING
from ..evidence.refusal import whole_tool
from ..evidence.sameness import say_alike
from ..evidence.streak import may_be_streak, streak_of
from ..evidence.window import Window
from ..threshold import check_threshold
from .base import WindowDetector, detection

PATIENCE = 12
"""Rounds with the same answer if it is not a failure."""
ROW_SPACING = 2
"""Rounds between two detections of a streak over any tools: no block comes before its stop, which
is so as many rounds after the notice as that of other loops."""
FRESH_PER_MATCH = 0.25
"""New results allowed for each failure: an agent that learns something else is not stuck."""


@beta
class FailureStreakDetector(WindowDetector):
    """Find a tool that fails in the same way under changing arguments, or rounds that all fail.

    Two failures are the same if they differ only in numbers and in echoes of the arguments:
    "ticket 1000 not found", "ticket 1001 not found". An identical long answer counts as well: it is
    not an acknowledgment, and the agent has read it before. Rounds that failed, found nothing or
    returned known results are also a streak, for any mix of tools; rounds that are neither
    unproductive nor new are skipped. If all of them are failures of one tool, and a call was made
    again although it failed, the words of the failures do not matter. Blocking the calls of such a
    streak would not help, because the next calls differ, so the ladder takes its last action
    instead. An answer with less left to do than the one before, such as fewer failed tests, is
    progress and starts a new streak.

    With `patience`, answers that are not failures need more rounds: a tool that finds nothing for
    any arguments, or one that asks to come back later.

    Args:
        threshold: rounds with the same failure of one tool, with at most one new result for four
            of them, 2 or more; or rounds in a row with any failures of one tool, if one of its
            calls had failed in the same way before.
        patience: rounds with the same answer of one tool that finds nothing or asks to wait; by
            default 12, or the threshold if that is more.
        in_a_row: unproductive rounds in a row, over any tools, 2 or more. Such a streak is weaker
            evidence, so it is reported again only two rounds later. If each round looks for
            something else and finds nothing, twice as many rounds are needed.
        repeats: rounds of such a streak that must repeat an earlier answer, including the last
            one, 0 or more; a streak of twice the length needs none. An agent whose attempts all
            fail in different ways explores.

    Raises:
        ValueError: if a number is below 2, or patience below the threshold.
    """

    name = "failure_streak"
    look_back = 50
    ignores_new_rounds = True

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
        for item in window.rounds[-1].sorted_evidence if is_unproductive else ():
            if _is_fruitless(item):
                needed = self._needed(window, item.features)
                streak = self._same_failure(window, item.features, needed)
                if len(streak) >= needed:
                    return self._of_one_tool(streak)
            is_unproductive = is_unproductive and item.is_unproductive
        if is_unproductive:
            row = streak_of(window, lambda item: item.is_unproductive, fresh_per_match=0.0)
            if self._is_enough(window, row):
                return self._of_any_tool(row)
        return None

    def _is_enough(self, window: Window, row: List[JudgedCall]) -> bool:
        """Whether a row over any tools is long enough and repeats answers often enough."""
        needed = window.threshold(self.name, row[-1].features.tool, self.threshold)
        if len(row) >= needed and _is_stubborn(row):
            return True
        if len(row) < self.in_a_row or len(row) >= 2 * self.in_a_row or not self.repeats:
            return len(row) >= self.in_a_row
        repeats = _repeats(row, _are_alike)
        # A failure in new words may be the first step of another way.
        return repeats >= self.repeats and repeats > _repeats(row[:-1], _are_alike)

    def _same_failure(self, window: Window, latest: CallFeatures, needed: int) -> List[JudgedCall]:
        if not may_be_streak(window, latest, needed, FRESH_PER_MATCH):
            return []
        return streak_of(
            window,
            lambda item: item.features.tool == latest.tool and say_alike(item.features, latest),
            fresh_per_match=FRESH_PER_MATCH,
        )

    def _needed(self, window: Window, features: CallFeatures) -> int:
        usual = self.threshold if features.outcome.is_failure or features.is_long else self.patience
        # The tool says that it found nothing, so twice `in_a_row` is enough.
        if features.outcome is EMPTY:
            usual = min(usual, max(self.threshold, 2 * self.in_a_row))
        return window.threshold(self.name, features.tool, usual)

    def _of_one_tool(self, streak: List[JudgedCall]) -> LoopDetection:
        features, count = streak[-1].features, len(streak)
        waits = features.outcome is WAITING
        what = "asked to come back later" if waits else "gave the same fruitless answer"
        return detection(
            self.name,
            f"Tool {features.tool!r} {what} {count} times.",
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
            period=min(self.in_a_row, len(row)),
            identity=("any",),
            refused=(),
            details={"tool": tools[-1], "tools": tools, "count": len(row)},
            is_certain=False,
        )
        is_firm = _repeats(row, _are_exactly_alike) >= self.repeats
        return replace(found, spacing=ROW_SPACING if is_firm else 2 * self.in_a_row)


def _is_fruitless(item: JudgedCall) -> bool:
    """Whether an answer may belong to a streak of one tool."""
    features, kind = item.features, item.features.outcome
    if kind is SUCCESS or features.is_long:
        return kind.is_failure or (features.is_long and not item.is_fresh)
    if kind is WAITING:
        return not (features.is_polled or item.is_change)
    return kind.is_failure or kind is EMPTY or (kind is SILENT and features.only_looks)


def _is_stubborn(row: List[JudgedCall]) -> bool:
    """Whether one tool failed each time, although a call had failed in the same way before."""
    is_repeated = any(item.is_known for item in row)
    return is_repeated and all(
        item.features.tool == row[0].features.tool and item.features.outcome.is_failure
        for item in row
    )


def _repeats(row: List[JudgedCall], are_alike: Callable[[CallFeatures, CallFeatures], bool]) -> int:
    """Count the rounds that repeat the answer of an earlier round of the row."""
    return sum(
        item.is_known or any(are_alike(item.features, each.features) for each in row[:place])
        for place, item in enumerate(row)
    )


def _are_alike(one: CallFeatures, other: CallFeatures) -> bool:
    """Whether two rounds failed in the same way, or found nothing with the same tool."""
    kind = one.outcome
    if kind.is_failure:
        return say_alike(one, other)
    if kind is not other.outcome or one.tool != other.tool:
        return False
    return one.result_key == other.result_key or not kind.says_something


def _are_exactly_alike(one: CallFeatures, other: CallFeatures) -> bool:
    """Whether two rounds failed in the same way, or looked for the same and found nothing."""
    return _are_alike(one, other) and (one.outcome.is_failure or one.near == other.near)


def _said(features: CallFeatures) -> Optional[str]:
    """Return the key of a streak of one tool; all empty answers share one key."""
    return features.result if features.outcome.says_something else features.outcome.value
