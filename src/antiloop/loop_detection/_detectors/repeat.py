"""The same call again and again."""

from dataclasses import replace
from operator import attrgetter
from typing import List, Optional

from ..._checks import check_flag, check_text
from ...stability import stable
from .._detection import LoopDetection
from .._evidence.call_features import CallFeatures
from .._evidence.outcome import REFUSED
from .._evidence.round import JudgedCall, Round
from .._evidence.sameness import differ
from .._evidence.streak import is_early, is_part_of_poll, rounds_needed
from .._evidence.window import Window
from .base import BESIDE, ThresholdDetector, detection, patience_of


@stable
class RepeatDetector(ThresholdDetector):
    """Find the same call (tool and arguments) in consecutive rounds.

    By default only the repetition counts. With ``require_same_result`` a different result restarts
    the count, so polling, scrolling and paging pass. A tool that is declared as polled is always
    judged by its results.

    Args:
        threshold: consecutive rounds with the call, 2 or more.
        require_same_result: count only rounds whose results are not known to differ by more than
            noise (times, random ids, counters).
        patience: rounds needed if the calls wait for work elsewhere, or lead further each time
            and do not say where, as a scroll does; by default the threshold.
        patience_s: seconds that calls may wait without news, instead of rounds, where the run says
            when they were made or how long they took; by default rounds decide.
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
        patience_s: Optional[int] = None,
        name: str = "repeat",
    ) -> None:
        super().__init__(threshold)
        check_flag("require_same_result", require_same_result)
        check_text("name", name)
        self.name = name
        self.require_same_result = require_same_result
        self.patience: int = patience_of(threshold, patience, patience_s)
        self.patience_s = patience_s
        self.span: int = self.patience

    def find(self, window: Window) -> Optional[LoopDetection]:
        """Check the streak of each call of the last round; the longest ones are one loop."""
        if len(window.rounds) < 2:
            return None
        previous = window.rounds[-2].calls
        longest: List[List[JudgedCall]] = []
        is_beside = waits_long = False
        for item in window.rounds[-1].evidence:
            if item.call in previous:
                streak = self._streak(window, item.features)
                if len(streak) >= self._needed(window, streak):
                    longest = _longest([*longest, streak])
                    is_beside = is_beside or self._share_beside(window, streak) > 0.5
                    waits_long = waits_long or is_early(window, self, streak)
        if not longest:
            return None
        found = self._detection(longest)
        if waits_long:
            return replace(found, may_end_run=False, spacing=self.patience)
        return replace(found, may_end_run=False, spacing=BESIDE) if is_beside else found

    def _streak(self, window: Window, latest: CallFeatures) -> List[JudgedCall]:
        streak: List[JudgedCall] = []
        known = latest
        # To declare a tool as polled says that only its results count, even for a bare detector.
        by_result = self.require_same_result or latest.is_polled
        later: Optional[Round] = None
        for passed in reversed(window.rounds):
            item = passed.calls.get(latest.call)
            # Of a refused call the tool's answer is not known, so it is compared with those before.
            if item is None or (by_result and differ(known, item.features)):
                break
            if by_result and streak and streak[-1].is_step_forward:
                break  # less time is left, which is noise otherwise
            is_unseen = by_result and item.result is None
            if is_unseen and later is not None and later.brings_news_beside(latest.call):
                break  # some tools never show what they gave: their siblings tell
            later = passed
            streak.append(item)
            if item.outcome is not REFUSED and item.result is not None:
                known = item.features
        streak.reverse()
        return streak

    def _needed(self, window: Window, streak: List[JudgedCall]) -> int:
        # What the user declares about a tool comes before what is guessed of its calls.
        usual = rounds_needed(self, streak, self.threshold)
        if self.require_same_result and len(streak) >= usual == self.threshold:
            if is_part_of_poll(window, streak, self.threshold):
                usual = self.patience
            elif self._share_beside(window, streak, of_reply=0.5) == 1:
                usual = 2 * self.threshold  # an agent that works, and looks at the same beside it
        return window.threshold(self.name, streak[-1].tool, usual)

    def _share_beside(
        self, window: Window, streak: List[JudgedCall], of_reply: float = 0.0
    ) -> float:
        """Return the share of repetitions that came beside new work of their reply: it is a habit.

        Args:
            window: the window.
            streak: the repetitions.
            of_reply: the share of the calls of such a reply that are new work, at least.
        """
        if not self.require_same_result:
            return 0.0
        later = window.rounds[1 - len(streak) :][-BESIDE:]
        call = streak[-1].call
        beside = (
            each.brings_news_beside(call) and each.news >= of_reply * len(each.evidence)
            for each in later
        )
        return sum(beside) / len(later)

    def _detection(self, streaks: List[List[JudgedCall]]) -> LoopDetection:
        lap = [streak[-1] for streak in streaks]
        features, count = lap[0].features, len(streaks[0])
        # The last reply need not name the calls in the order of those before.
        found = sorted((item for streak in streaks for item in streak), key=attrgetter("index"))
        tools = ", ".join(dict.fromkeys(repr(item.tool) for item in lap))
        what = f"Tool {tools} was called" if len(lap) == 1 else f"{len(lap)} calls of {tools} came"
        return detection(
            self.name,
            f"{what} {count} times in a row with the same arguments.",
            found,
            lap=lap,
            times=f" {count} times in a row",
            details={"tool": features.tool, "count": count, "arguments": features.shown.value},
        )


def _longest(streaks: List[List[JudgedCall]]) -> List[List[JudgedCall]]:
    """Keep the longest streaks: calls that always come together are one loop."""
    # A call that joined later is not part of what came back each time, so a block spares it.
    length = max(map(len, streaks))
    return [streak for streak in streaks if len(streak) == length]
