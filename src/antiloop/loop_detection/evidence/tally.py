"""How often the calls of a window came, and how often they ended in the same way."""

from typing import Dict, Hashable, Iterable

from .call_features import CallFeatures
from .judged_call import JudgedCall
from .outcome import SUCCESS


class Tally(Dict[Hashable, int]):
    """Counts over the calls of a window, which settle most questions before texts are compared.

    Counted are the call, the answer of its tool, and how it ended, unless it was a success.
    """

    def add(self, calls: Iterable[JudgedCall]) -> None:
        """Count calls that enter the window."""
        get = self.get
        for item in calls:
            features = item.features
            self[features.call_key] = get(features.call_key, 0) + 1
            self[features.answer_key] = get(features.answer_key, 0) + 1
            if features.outcome is not SUCCESS:
                ending = (features.tool, features.outcome)
                self[ending] = get(ending, 0) + 1

    def forget(self, calls: Iterable[JudgedCall]) -> None:
        """Stop counting calls that leave the window."""
        for item in calls:
            features = item.features
            self._lower(features.call_key)
            self._lower(features.answer_key)
            if features.outcome is not SUCCESS:
                self._lower((features.tool, features.outcome))

    def came(self, features: CallFeatures) -> int:
        """Count the rounds that hold this call."""
        return self.get(features.call_key, 0)

    def answered(self, features: CallFeatures) -> int:
        """Count the calls to which this tool gave this answer."""
        return self.get(features.answer_key, 0)

    def ended_alike(self, features: CallFeatures) -> int:
        """Count the calls of this tool that ended in the same way; not of a success."""
        return self.get((features.tool, features.outcome), 0)

    def count_possibly_alike(self, features: CallFeatures) -> int:
        """Count the calls that may say the same: with this answer, or ended in the same way."""
        answered = self.get(features.answer_key, 0)
        if features.outcome is SUCCESS:
            return answered
        return answered + self.ended_alike(features)

    def _lower(self, key: Hashable) -> None:
        left = self.pop(key) - 1
        if left:
            self[key] = left
