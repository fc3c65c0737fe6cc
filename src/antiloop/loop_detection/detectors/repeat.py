"""The same call again and again."""

from typing import List, Optional

from ...stability import beta
from ..detection import LoopDetection
from ..evidence.call_features import CallFeatures
from ..evidence.effect import seems_to_move
from ..evidence.judged_call import JudgedCall
from ..evidence.outcome import REFUSED, SILENT, WAITING
from ..evidence.round import Round
from ..evidence.sameness import differ
from ..evidence.window import Window
from ..threshold import check_flag, check_text, check_threshold
from .base import WindowDetector, detection


@beta
class RepeatDetector(WindowDetector):
    """Find the same call (tool and arguments) in consecutive rounds.

    By default only the repetition counts. With ``require_same_result`` a different result restarts
    the count, so polling, scrolling and paging pass. A tool that is declared as polled is always
    judged by its results.

    Args:
        threshold: consecutive rounds with the call, 2 or more.
        require_same_result: count only rounds whose results are not known to differ by more than
            noise (times, random ids, counters).
        patience: rounds needed if the result says that work is in progress or asks to come back
            later, or if a silent tool moves on each time, as a scroll does; by default the
            threshold.
        name: another name, for a second detector of this class.

    Raises:
        ValueError: if a number is below 2, patience below the threshold, or the name blank.
        TypeError: if `require_same_result` is not True or False, or the name is not a text.

    >>> from antiloop import ToolCall
    >>> RepeatDetector(2).check([ToolCall("ls"), ToolCall("ls")], []).message
    "Tool 'ls' was called 2 times in a row with the same arguments."
    """

    ignores_new_rounds = True

    def __init__(
        self,
        threshold: int = 3,
        *,
        require_same_result: bool = False,
        patience: Optional[int] = None,
        name: str = "repeat",
    ) -> None:
        check_threshold("threshold", threshold)
        check_flag("require_same_result", require_same_result)
        check_text("name", name)
        self.name = name
        self.threshold = threshold
        self.require_same_result = require_same_result
        self.patience = threshold if patience is None else patience
        check_threshold("patience", self.patience, threshold)
        self.span = self.patience

    def find(self, window: Window) -> Optional[LoopDetection]:
        """Check the streak of each call of the last round; the longest ones are one loop."""
        if len(window.rounds) < 2:
            return None
        previous = window.rounds[-2].calls
        longest: List[List[JudgedCall]] = []
        for item in window.rounds[-1].evidence:
            if item.features.call_key in previous:
                streak = self._streak(window, item.features)
                if len(streak) >= self._needed(window, item.features):
                    longest = _longest([*longest, streak])
        return self._detection(longest) if longest else None

    def _streak(self, window: Window, latest: CallFeatures) -> List[JudgedCall]:
        streak: List[JudgedCall] = []
        known = latest
        by_result = self.require_same_result or latest.is_polled
        later: Optional[Round] = None
        for passed in reversed(window.rounds):
            item = passed.calls.get(latest.call_key)
            if item is None or (by_result and differ(known, item.features)):
                break
            is_unseen = by_result and item.features.result_key is None
            if is_unseen and later is not None and later.brings_news(latest.call_key):
                break  # some tools never show what they gave: their siblings tell
            later = passed
            streak.append(item)
            if item.features.outcome is not REFUSED and item.features.result_key is not None:
                known = item.features
        streak.reverse()
        return streak

    def _needed(self, window: Window, features: CallFeatures) -> int:
        is_slow = features.outcome is WAITING or _may_go_on(features)
        usual = self.patience if is_slow else self.threshold
        return window.threshold(self.name, features.tool, usual)

    def _detection(self, streaks: List[List[JudgedCall]]) -> LoopDetection:
        lap = [streak[-1] for streak in streaks]
        features, count = lap[0].features, len(streaks[0])
        # The last reply need not name the calls in the order of those before.
        found = sorted((item for streak in streaks for item in streak), key=_index)
        tools = ", ".join(dict.fromkeys(repr(item.features.tool) for item in lap))
        what = f"Tool {tools} was called" if len(lap) == 1 else f"{len(lap)} calls of {tools} came"
        return detection(
            self.name,
            f"{what} {count} times in a row with the same arguments.",
            found,
            lap=lap,
            details={"tool": features.tool, "count": count, "arguments": features.shown.value},
        )


def _may_go_on(features: CallFeatures) -> bool:
    """Whether the same call may lead further each time, and does not say where."""
    return features.outcome is SILENT and seems_to_move(features.tool)


def _index(item: JudgedCall) -> int:
    return item.index


def _longest(streaks: List[List[JudgedCall]]) -> List[List[JudgedCall]]:
    """Keep the longest streaks: calls that always come together are one loop."""
    length = max(map(len, streaks))
    return [streak for streak in streaks if len(streak) == length]
