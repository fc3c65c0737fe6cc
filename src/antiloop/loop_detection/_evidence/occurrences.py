"""Counts of each call and each answer, which settle most questions before texts are compared."""

from typing import Any, Dict, Iterable

from .call_features import CallFeatures
from .outcome import SUCCESS
from .round import JudgedCall


class Occurrences:
    """Counts over the calls of a window."""

    def __init__(self) -> None:
        # By call, by tool and answer, and by tool and outcome.
        self._counts: Dict[Any, int] = {}

    def add(self, calls: Iterable[JudgedCall], by: int = 1) -> None:
        """Count calls that enter the window."""
        counts = dict(self._counts)
        for item in calls:
            features = item.features
            keys = [features.call, (features.tool, features.result)]
            if features.outcome is not SUCCESS:
                keys.append((features.tool, features.outcome))
            for key in keys:
                counts[key] = counts.get(key, 0) + by
                if not counts[key]:
                    del counts[key]  # else the counts would grow with the run
        self._counts = counts

    def remove(self, calls: Iterable[JudgedCall]) -> None:
        """Stop counting calls that leave the window."""
        self.add(calls, -1)

    def came(self, features: CallFeatures) -> int:
        """Count the rounds that hold this call."""
        return self._counts.get(features.call, 0)

    def answered(self, features: CallFeatures) -> int:
        """Count the calls to which this tool gave this answer."""
        return self._counts.get((features.tool, features.result), 0)

    def ended_alike(self, features: CallFeatures) -> int:
        """Count the calls of this tool that ended in the same way; not of a success."""
        return self._counts.get((features.tool, features.outcome), 0)

    def count_possibly_alike(self, features: CallFeatures) -> int:
        """Count the calls that may say the same: with this answer, or ended in the same way."""
        answered = self.answered(features)
        if features.outcome is SUCCESS:
            return answered
        return answered + self.ended_alike(features)
