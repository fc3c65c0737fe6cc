"""Different calls with the same result."""

from typing import List, Optional

from ..._checks import check_flag
from ...stability import stable
from .._detection import LoopDetection
from .._evidence.call_features import CallFeatures
from .._evidence.outcome import SILENT, WAITING
from .._evidence.refusal import whole_tool
from .._evidence.round import JudgedCall, Round, sorted_by_fingerprint
from .._evidence.sameness import say_alike
from .._evidence.window import Window
from .base import ThresholdDetector, detection, weaker_count


@stable
class StallDetector(ThresholdDetector):
    """Find different calls that return the same result.

    An agent that re-reads one page under ten URLs looks busy and learns nothing. By default any
    equal result counts, although healthy agents get equal results too: "ok" for every file they
    save, or no output from most shell commands. The options leave these out.

    Args:
        threshold: consecutive rounds in which one tool gives the same result, 2 or more.
        only_fruitless: ignore successes, compare failures without echoes of the arguments, and
            count an empty result only for nearly the same arguments.
        varied: rounds needed if the arguments are not nearly the same; by default the threshold.

    Raises:
        ValueError: if a number is below 2, or ``varied`` below the threshold.

    >>> from antiloop import ToolCall
    >>> calls = [ToolCall("get", {"url": "/a"}), ToolCall("get", {"url": "/b"})]
    >>> StallDetector(2).check(calls, ["404", "404"]).message
    "Tool 'get' returned the same result 2 times in a row."
    """

    name = "stall"

    def __init__(
        self, threshold: int = 3, *, only_fruitless: bool = False, varied: Optional[int] = None
    ) -> None:
        super().__init__(threshold)
        check_flag("only_fruitless", only_fruitless)
        self.only_fruitless = only_fruitless
        self.varied: int = weaker_count("varied", varied, threshold)
        self.span: int = self.varied

    @property
    def ignores_new_rounds(self) -> bool:  # type: ignore[override]
        """Whether a new round never completes a streak; changes may be acknowledged alike."""
        return self.only_fruitless

    def find(self, window: Window) -> Optional[LoopDetection]:
        """Check the streak of each result of the last round; report the longest."""
        if len(window.rounds) < 2:
            return None
        longest: List[JudgedCall] = []
        last = window.rounds[-1]
        for item in last.sorted_evidence:
            if not self._counts(item) or self._is_silent_act(last, item):
                continue
            # Without results that agree in kind there is no streak, whatever their texts say.
            if self._may_be_enough(window, item.features):
                streak = self._streak(window, item.features)
                if len(streak) > max(1, len(longest)) and self._is_enough(window, streak):
                    longest = streak
        return self._detection(longest) if longest else None

    def _may_be_enough(self, window: Window, latest: CallFeatures) -> bool:
        """Compare the kinds of results before their texts, which is cheap and usually enough."""
        least = self._needed_of(window, latest.tool)
        for passed in window.rounds[-least:-1]:
            kinds = [i.outcome for i in passed.evidence if i.tool == latest.tool]
            if latest.outcome not in kinds:
                return False
        return len(window.rounds) >= least

    def _counts(self, item: JudgedCall) -> bool:
        if self.only_fruitless:
            kind = item.outcome
            # A long page that comes back was read before; a short one may be a mere "ok".
            is_reread = item.features.is_long and not item.is_fresh and kind is not WAITING
            return kind.is_fruitless or is_reread
        return item.result is not None

    def _is_silent_act(self, last: Round, item: JudgedCall) -> bool:
        """Whether silence means no more than that an act was done: the look at it tells."""
        features = item.features
        if not self.only_fruitless or features.outcome is not SILENT:
            return False
        return features.moves or last.brings_news_beside(features.call)

    def _is_beside_news(self, passed: Round, item: JudgedCall) -> bool:
        """Whether a new call failed beside others that brought something new."""
        return self.only_fruitless and item.is_new and passed.brings_news_beside(item.features.call)

    def _same(self, one: CallFeatures, other: CallFeatures) -> bool:
        if one.tool != other.tool or other.result is None:
            return False
        return say_alike(one, other) if self.only_fruitless else one.result == other.result

    def _streak(self, window: Window, latest: CallFeatures) -> List[JudgedCall]:
        streak: List[JudgedCall] = []
        for passed in reversed(window.rounds):
            same = [
                item
                for item in passed.evidence
                if self._same(latest, item.features) and not self._is_beside_news(passed, item)
            ]
            if not same:
                break
            streak.append(_nearest(latest, same))
            # "7 failed" after "12 failed" is the first answer of a new streak.
            if streak[-1].is_step_forward:
                break
        streak.reverse()
        return streak

    def _is_enough(self, window: Window, streak: List[JudgedCall]) -> bool:
        latest, count = streak[-1].features, len(streak)
        declared = window.policy(latest.tool).thresholds.get(self.name)
        if declared is not None or not self.only_fruitless:
            return count >= (declared or self.threshold)
        if count < self.threshold:
            return False
        # Words that repeat under other arguments have one cause. Silence says nothing, so only
        # nearly the same arguments make it a loop.
        if latest.outcome.says_something:
            return count >= self.varied or self._is_near(streak)
        return count >= self.varied and self._is_near(streak)

    def _is_near(self, streak: List[JudgedCall]) -> bool:
        return len({item.features.near for item in streak[-self.varied :]}) == 1

    def _detection(self, streak: List[JudgedCall]) -> LoopDetection:
        features, count = streak[-1].features, len(streak)
        return detection(
            self.name,
            f"Tool {features.tool!r} returned the same result {count} times in a row.",
            streak,
            times=f", {count} calls in a row with the same result",
            identity=(features.tool, features.wording if self.only_fruitless else features.result),
            refused=whole_tool(features),
            details={"tool": features.tool, "count": count, "result_hash": features.result},
        )


def _nearest(latest: CallFeatures, siblings: List[JudgedCall]) -> JudgedCall:
    """Return the sibling with nearly the same arguments, so that the order does not matter."""
    if len(siblings) == 1:
        return siblings[0]
    siblings = sorted_by_fingerprint(siblings)
    return next((item for item in siblings if item.features.near == latest.near), siblings[0])
