"""The texts of a run as the page keeps them: each once, shortened, and in the order of the run."""

from typing import Dict, List

from ...loop_detection.text.shortening import shortened

TEXT_LIMITS = (8_000, 2_000, 500)
"""Characters that the page keeps of one text; less in large runs."""
RUN_BUDGET = 2_000_000
"""Characters of a run's different texts above which the next limit is taken."""


class Texts:
    """Texts, numbered as they are added."""

    def __init__(self) -> None:
        self._whole: List[str] = []

    def add(self, text: str) -> int:
        """Take a text, and return its number."""
        self._whole.append(text)
        return len(self._whole) - 1

    def kept(self) -> List[str]:
        """Return the texts, those that are too long shortened in the middle."""
        limit = self._limit()
        return [shortened(text, limit) for text in self._whole]

    def cut(self) -> Dict[int, int]:
        """Return the whole length of each text that is shortened, by its number."""
        limit = self._limit()
        lengths = map(len, self._whole)
        return {number: length for number, length in enumerate(lengths) if length > limit}

    def _limit(self) -> int:
        """Choose the largest limit that keeps a run within its budget, or the smallest."""
        for limit in TEXT_LIMITS[:-1]:
            if sum(min(len(text), limit) for text in self._whole) <= RUN_BUDGET:
                return limit
        return TEXT_LIMITS[-1]
