"""The words of the model in one run, as detectors read them."""

from dataclasses import replace
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple

from ..._text.masking import Masking
from .._detection import LoopDetection
from .._detectors.text_detector import TextDetector, TextWatch

Counts = Iterator[Tuple[TextDetector, Optional[int]]]
"""Each detector of words, and how often it has counted the repeated words."""


class Speech:
    """The replies of one run, as detectors of words know them.

    Args:
        detectors: those of the run; others than a `TextDetector` are passed over.
        masking: what of the words may be shown.
    """

    def __init__(self, detectors: Iterable[Any], masking: Masking) -> None:
        self.replies = 0
        """The number of replies begun: the clock by which findings about words climb."""
        self._is_open = False
        self._masking = masking
        self._thoughts: List[TextWatch] = []
        self._watches: List[Tuple[TextDetector, TextWatch]] = [
            (each, each.watch(masking)) for each in detectors if isinstance(each, TextDetector)
        ]

    def saying(self, piece: str) -> List[LoopDetection]:
        """Take a piece of the reply that is under way, and return what it shows."""
        self._begin()
        return _found(watch.saying(piece) for _, watch in self._watches)

    def thinking(self, piece: str) -> List[LoopDetection]:
        """Take a piece of what the model thinks before its reply, and return what it shows.

        Thoughts are not for others to read, so what is found does not quote them.
        """
        self._begin()
        if not self._thoughts:
            readers = [each for each, _ in self._watches if each.reads_thoughts]
            self._thoughts = [each.watch(self._masking) for each in readers]
        found = _found(watch.saying(piece) for watch in self._thoughts)
        return [_unquoted(each) for each in found]

    def said(self, text: str) -> List[LoopDetection]:
        """Take a whole reply, after its pieces if there were any, and return what it shows."""
        self._begin()
        self._is_open = False
        self._thoughts = []
        return _found(watch.said(text) for _, watch in self._watches)

    def moved(self) -> None:
        """Note that tools were called, or that the user spoke."""
        self._is_open = False
        self._thoughts = []
        if self.replies:  # else there is nothing that could be over
            for _, watch in self._watches:
                watch.moved()

    def counts(self) -> Counts:
        """Yield how often each detector has counted the words in question."""
        for detector, watch in self._watches:
            yield detector, watch.count

    def to_dict(self) -> Dict[str, Any]:
        """Return the state as plain JSON; a reply that is under way starts again."""
        watches = [watch.to_dict() for _, watch in self._watches]
        return {"replies": self.replies, "watches": watches}

    def load(self, state: Mapping[str, Any]) -> None:
        """Take over a state that `to_dict` gave."""
        self.replies = int(state["replies"])
        for (_, watch), known in zip(self._watches, state["watches"]):
            watch.load(known)

    def _begin(self) -> None:
        self.replies += not self._is_open
        self._is_open = True


def _unquoted(found: LoopDetection) -> LoopDetection:
    message = f"What the model thinks repeats itself {found.repetitions} times."
    return replace(found, message=message, summary=message, details={"count": found.repetitions})


def _found(answers: Iterable[Optional[LoopDetection]]) -> List[LoopDetection]:
    return [each for each in answers if each is not None]
