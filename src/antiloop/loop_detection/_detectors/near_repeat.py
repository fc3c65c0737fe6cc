"""Calls that differ only in noise and return the same result."""

from typing import List, Optional

from ...stability import beta
from .._detection import LoopDetection
from .._evidence.call_features import CallFeatures
from .._evidence.outcome import EMPTY, SILENT, SUCCESS, WAITING
from .._evidence.place import are_beside
from .._evidence.refusal import near_key
from .._evidence.round import JudgedCall
from .._evidence.sameness import acknowledges, say_alike
from .._evidence.streak import is_amid_acts, is_paced, is_part_of_poll, may_lead_on, streak_of
from .._evidence.window import Window
from .base import ThresholdDetector, detection, patience_of, spaced

# `head -20` and `head -21` with one answer are one look. But a number may also be the question,
# such as an index, so numbers take more rounds than spelling.
NUMBERED = 6
"""Rounds with the same answer if the arguments differ in numbers."""
CLICKS = 12
"""Rounds of clicks at one place that are acknowledged alike: the next look shows what they did."""


@beta
class NearRepeatDetector(ThresholdDetector):
    """Find calls with the same result whose arguments have only cosmetic differences.

    Cosmetic differences are a fresh request id, the order, plural and repetition of words, a number
    sent as text, and everything after a shell no-op. Similar arguments are not enough: two paths
    with a long common prefix are two paths. Of calls that only look, six with exactly the same
    answer may differ in numbers as well, and clicks with one answer, or with unknown ones, by a few
    pixels. Arguments are reduced to what counts at most once for each call, and only where such a
    streak is possible.

    Args:
        threshold: rounds with such a call while little else is new, 2 or more.
        patience: rounds needed if the calls wait for work elsewhere; by default the threshold.

    Raises:
        ValueError: if threshold is below 2, or patience below it.
    """

    name = "near_repeat"
    look_back = 50
    ignores_new_rounds = True

    def __init__(self, threshold: int = 4, *, patience: Optional[int] = None) -> None:
        super().__init__(threshold)
        self.patience: int = patience_of(threshold, patience)
        self.span: int = self.patience

    def find(self, window: Window) -> Optional[LoopDetection]:
        """Look for earlier calls that are nearly those of the last round."""
        for item in window.rounds[-1].sorted_evidence if window.rounds else ():
            needed = self._needed_of(window, item.tool)
            if self._is_evidence(window, item, needed):
                streak = _streak(window, item.features)
                if item.outcome is WAITING:
                    needed = max(needed, self.patience)
                    if len({each.call for each in streak}) == 1:
                        continue  # that is a repeat, and has its patience
                if len({each.features.near for each in streak}) > 1:
                    needed = max(needed, NUMBERED)
                if item.features.place is not None and item.features.moves:
                    needed = max(needed, CLICKS)
                if len(streak) >= needed and not _is_habit(window, streak, needed):
                    found = self._detection(streak)
                    # To look at the same beside new work may be a habit; to fail again is none.
                    fails = item.outcome.is_failure
                    return found if fails else spaced(found, window, streak)
        return None

    def _is_evidence(self, window: Window, item: JudgedCall, needed: int) -> bool:
        """Check the cheap conditions first; they settle most steps of a healthy run."""
        kind = item.outcome
        if window.occurrences.count_possibly_alike(item.features) < needed:
            return False
        # Waits differ in their timeouts and nothing else, and a scroll is answered alike at each
        # place.
        is_click = item.features.place is not None
        if item.features.waits or (item.features.moves and not is_click):
            return False
        # One of several searches in a reply may be an old one; the reply as a whole is new work.
        if window.rounds[-1].brings_news_beside(item.call):
            return False
        if kind.is_failure or kind is EMPTY:
            return True
        # Other answers than failures must be exactly equal, and that is quick to count.
        if kind is not SILENT and window.occurrences.answered(item.features) < needed:
            return False
        # Two edits in the same words are two edits.
        return is_click or (item.result is not None and not item.features.changes_world)

    def _detection(self, streak: List[JudgedCall]) -> LoopDetection:
        features, count = streak[-1].features, len(streak)
        return detection(
            self.name,
            f"Tool {features.tool!r} was called {count} times with nearly the same arguments.",
            streak,
            times=f", {count} times with small changes",
            identity=(features.tool, features.near),
            refused=(near_key(features),),
            details={"tool": features.tool, "count": count, "arguments": features.shown.value},
            is_certain=False,
        )


def _is_habit(window: Window, streak: List[JudgedCall], needed: int) -> bool:
    """Whether a streak is part of waiting or of work."""
    # Of a poll `RepeatDetector` says when it has lasted for too long.
    is_part = is_part_of_poll(window, streak, needed)
    is_work = is_amid_acts(window, streak) or may_lead_on(window, streak)
    return is_part or is_paced(window, streak) or is_work


def _streak(window: Window, latest: CallFeatures) -> List[JudgedCall]:
    # A silent result is evidence only where nothing at all was new.
    fresh = 0.0 if latest.outcome is SILENT or acknowledges(latest) else 1.0
    return streak_of(window, lambda item: _is_near(item.features, latest), fresh_per_match=fresh)


def _is_near(one: CallFeatures, other: CallFeatures) -> bool:
    if one is other:
        return True
    # Of clicks whose answers are not known, the calls decide alone.
    is_unknown = one.result is other.result is None
    if one.tool != other.tool or not (is_unknown or say_alike(one, other)):
        return False
    if are_beside(one.place, other.place) and one.shape == other.shape:
        return True
    if one.call == other.call or one.near == other.near:
        return True
    is_shown_again = one.result == other.result and one.outcome is SUCCESS and not one.is_terse
    # What clicks at other places or asks for another of many things may be answered alike.
    return is_shown_again and one.only_looks and other.only_looks and one.shape == other.shape
