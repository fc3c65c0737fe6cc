"""What a detector of the model's words is, and what it knows of one run."""

from abc import ABC, abstractmethod
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple

from ...stability import beta
from ...types import ToolCall
from ..detection import LoopDetection
from ..evidence.compared import KEY_LENGTH, Result
from ..evidence.fingerprint import text_fingerprint
from ..text.masking import SECRETS, Masking
from ..text.shortening import LABEL_LENGTH, beginning_of, visible
from .base import BaseDetector, WindowDetector

_QUOTED = 500
"""Characters of the words in question that are looked through for secrets."""


class TextWatch(ABC):
    """What a `TextDetector` knows of one run."""

    @abstractmethod
    def saying(self, piece: str) -> Optional[LoopDetection]:
        """Take a piece of a reply that is under way."""

    @abstractmethod
    def said(self, text: str) -> Optional[LoopDetection]:
        """Take a reply that is complete, after its pieces, if there were any."""

    @abstractmethod
    def moved(self) -> None:
        """Note that the run moved on: tools were called, or the user spoke."""

    @property
    @abstractmethod
    def count(self) -> Optional[int]:
        """How often the words in question came; None where nothing came twice."""

    def to_dict(self) -> Dict[str, Any]:
        """Give what must be known of earlier replies, as plain JSON."""
        return {}

    def load(self, state: Mapping[str, Any]) -> None:  # noqa: B027 - most know nothing of it
        """Take over a state that `to_dict` gave."""


@beta
class TextDetector(BaseDetector):
    """A detector of what the model says; calls and results are no matter to it.

    It keeps no state itself: `watch` makes what is known of one run.
    """

    unit: str = "times"
    """What is counted, for an explanation."""

    __repr__ = WindowDetector.__repr__

    @property
    @abstractmethod
    def needed(self) -> Tuple[str, int]:
        """The option that says how often is too often, and its value."""

    @abstractmethod
    def watch(self, masking: Masking = SECRETS) -> TextWatch:
        """Begin to watch a run; `masking` says what of its words may be shown."""

    def check(
        self,
        tool_calls: Sequence[ToolCall],  # noqa: ARG002 - see `check_replies`
        tool_results: Sequence[Result],  # noqa: ARG002
    ) -> Optional[LoopDetection]:
        """Find nothing: what the model says is looked at by `check_replies`."""
        return None

    def check_replies(self, replies: Sequence[str]) -> Optional[LoopDetection]:
        """Look at replies without a tool call between them, of which the last is in question.

        Args:
            replies: oldest first.
        """
        watch, found = self.watch(), None
        for reply in replies:
            found = watch.said(reply)
        return found


def text_detection(
    detector: str, message: str, words: str, repetitions: int, key: str, masking: Masking
) -> LoopDetection:
    """Put a finding about words together.

    Args:
        detector: the detector's name.
        message: what was found, to which the words are added.
        words: those in question.
        repetitions: how often they came.
        key: what makes this the same finding next time.
        masking: what of the words may be shown.
    """
    # Masked before it is shortened: half a secret would not be recognised as one.
    masked = masking.text(beginning_of(words, _QUOTED))
    shown = visible(" ".join(masked.split()), LABEL_LENGTH)
    return LoopDetection(
        detector_name=detector,
        message=f'{message}: "{shown}"',
        details={"words": shown, "count": repetitions},
        identity=f"{detector}:{text_fingerprint(key)[:KEY_LENGTH]}",
        repetitions=repetitions,
        refused=(),
    )
