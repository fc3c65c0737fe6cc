"""The base classes of detectors for the model's replies, and their state of one run."""

from abc import ABC, abstractmethod
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple

from ..._frozen import Unchangeable
from ..._text.masking import SECRETS, Masking
from ..._text.shortening import LABEL_LENGTH, beginning_of, visible
from ...stability import beta
from ...types import ToolCall
from .._detection import LoopDetection
from .._evidence.answered import Result
from .._evidence.fingerprint import KEY_LENGTH, text_fingerprint
from .base import BaseDetector, repr_of_options

_QUOTED = 500
"""Characters of a repeated text that are searched for secrets."""


class TextWatch(ABC):
    """The state of a `TextDetector` for one run."""

    @abstractmethod
    def saying(self, piece: str) -> Optional[LoopDetection]:
        """Take a piece of a reply that is arriving."""

    @abstractmethod
    def said(self, text: str) -> Optional[LoopDetection]:
        """Take a complete reply, after its pieces, if there were any."""

    @abstractmethod
    def moved(self) -> None:
        """Note that the run moved on: a tool call or a user message came."""

    @property
    @abstractmethod
    def count(self) -> Optional[int]:
        """The number of times that the repeated text came; None if nothing came twice."""

    def to_dict(self) -> Dict[str, Any]:
        """Return the state of earlier replies as plain JSON."""
        return {}

    def load(self, state: Mapping[str, Any]) -> None:  # noqa: B027 - most know nothing of it
        """Load a state from `to_dict`."""


@beta
class TextDetector(Unchangeable, BaseDetector):
    """A detector that checks the model's replies and ignores calls and results.

    It keeps no state: `watch` makes the state of one run.
    """

    unit: str = "times"
    """The unit of its count, for an explanation."""
    reads_thoughts: bool = False
    """Whether it also checks what the model thinks, while that arrives."""

    def __repr__(self) -> str:
        return repr_of_options(self)

    @property
    @abstractmethod
    def needed(self) -> Tuple[str, int]:
        """Name and value of the option that sets the threshold."""

    @abstractmethod
    def watch(self, masking: Masking = SECRETS) -> TextWatch:
        """Begin to watch a run; `masking` hides what must not be shown of its words."""

    def check(
        self,
        tool_calls: Sequence[ToolCall],  # noqa: ARG002 - see `check_replies`
        tool_results: Sequence[Result],  # noqa: ARG002
    ) -> Optional[LoopDetection]:
        """Return None: replies are checked by `check_replies`."""
        return None

    def check_replies(self, replies: Sequence[str]) -> Optional[LoopDetection]:
        """Check replies without a tool call between them; only a loop with the last one counts.

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
    """Build a detection about repeated text.

    Args:
        detector: the detector's name.
        message: the finding, to which the text is added.
        words: the repeated text.
        repetitions: how often it came.
        key: what identifies the finding next time.
        masking: hides what must not be shown of the text.
    """
    # Mask first, shorten then: half a secret would not be recognized as one.
    masked = masking.text(beginning_of(words, _QUOTED))
    shown = visible(" ".join(masked.split()), LABEL_LENGTH)
    return LoopDetection(
        detector_name=detector,
        message=f'{message}: "{shown}"',
        details={"words": shown, "count": repetitions},
        identity=f"{detector}:{text_fingerprint(key)[:KEY_LENGTH]}",
        repetitions=repetitions,
        # There is no call that a block could refuse.
        refused=(),
    )
