"""Counts of each call and each answer, which settle most questions before texts are compared."""

from typing import Any, Callable, Dict, Iterable, Optional, Tuple

from .call_features import CallFeatures
from .outcome import SUCCESS, Outcome
from .round import JudgedCall


class Occurrences:
    """Counts over the calls of a window."""

    def __init__(self) -> None:
        # Three counts, as most steps of a healthy run are settled by the first that is zero.
        self._calls: Dict[str, int] = {}
        self._answers: Dict[Tuple[str, Optional[str]], int] = {}
        self._endings: Dict[Tuple[str, Outcome], int] = {}

    def add(self, calls: Iterable[JudgedCall]) -> None:
        """Count calls that enter the window."""
        self._change(calls, _add_one)

    def remove(self, calls: Iterable[JudgedCall]) -> None:
        """Stop counting calls that leave the window."""
        self._change(calls, _take_one)

    def came(self, features: CallFeatures) -> int:
        """Count the rounds that hold this call."""
        return self._calls.get(features.call, 0)

    def answered(self, features: CallFeatures) -> int:
        """Count the calls to which this tool gave this answer."""
        return self._answers.get((features.tool, features.result), 0)

    def ended_alike(self, features: CallFeatures) -> int:
        """Count the calls of this tool that ended in the same way; not of a success."""
        return self._endings.get((features.tool, features.outcome), 0)

    def count_possibly_alike(self, features: CallFeatures) -> int:
        """Count the calls that may say the same: with this answer, or ended in the same way."""
        answered = self.answered(features)
        if features.outcome is SUCCESS:
            return answered
        return answered + self.ended_alike(features)

    def _change(
        self, calls: Iterable[JudgedCall], count: Callable[[Dict[Any, int], Any], None]
    ) -> None:
        for item in calls:
            features = item.features
            count(self._calls, features.call)
            count(self._answers, (features.tool, features.result))
            if features.outcome is not SUCCESS:
                count(self._endings, (features.tool, features.outcome))


def _add_one(counts: Dict[Any, int], key: Any) -> None:
    counts[key] = counts.get(key, 0) + 1


def _take_one(counts: Dict[Any, int], key: Any) -> None:
    left = counts.pop(key) - 1
    if left:  # else the counts would grow with the run
        counts[key] = left
