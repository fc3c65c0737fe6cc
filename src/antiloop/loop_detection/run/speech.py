"""What the model has said in one run, as far as detectors look at it."""

from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple

from ..detection import LoopDetection
from ..detectors.text_detector import TextDetector, TextWatch
from ..text.masking import Masking


class Speech:
    """The replies of one run, as detectors of words know them.

    Args:
        detectors: those of the run; others than a `TextDetector` are passed over.
        masking: what of the words may be shown.
    """

    def __init__(self, detectors: Iterable[Any], masking: Masking) -> None:
        self.replies = 0
        """How many replies were begun: the clock by which findings about words climb."""
        self.has_found = False
        """Whether anything was found in a reply since this monitor was made."""
        self._is_open = False
        self._watches: List[Tuple[TextDetector, TextWatch]] = [
            (each, each.watch(masking)) for each in detectors if isinstance(each, TextDetector)
        ]

    def saying(self, piece: str) -> List[LoopDetection]:
        """Take a piece of the reply that is under way, and return what it shows."""
        self._begin()
        return self._noted([watch.saying(piece) for _, watch in self._watches])

    def said(self, text: str) -> List[LoopDetection]:
        """Take a whole reply, after its pieces if there were any, and return what it shows."""
        self._begin()
        self._is_open = False
        return self._noted([watch.said(text) for _, watch in self._watches])

    def moved(self) -> None:
        """Note that tools were called, or that the user spoke."""
        self._is_open = False
        if self.replies:  # else there is nothing that could be over
            for _, watch in self._watches:
                watch.moved()

    def counts(self) -> Iterator[Tuple[TextDetector, Optional[int]]]:
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

    def _noted(self, answers: Iterable[Optional[LoopDetection]]) -> List[LoopDetection]:
        found = [each for each in answers if each is not None]
        self.has_found = self.has_found or bool(found)
        return found
