"""The same reply again and again, without a tool call."""

import re
from typing import Any, Dict, Mapping, Optional, Tuple

from ..._checks import check_threshold
from ..._text.masking import SECRETS, Masking
from ...stability import beta
from .._detection import LoopDetection
from .._evidence.fingerprint import KEY_LENGTH, text_fingerprint
from .text_detector import TextDetector, TextWatch, text_detection

_NUMBERING = re.compile(
    r"^(?:[^\w\n]{0,8}[^\W\d_]{1,16} \#?)?[^\w\n]{0,8}\d{1,6}"
    r"(?:(?:/| of )\d{1,6})?(?:[^\S\n]?[:)\u2013\u2014]|\.(?=[^\S\n])|(?=[^\S\n]-))",
    re.MULTILINE,
)
"""A number that counts, at the beginning of a line: ``2.``, ``(2)``, ``Attempt 2:``."""


@beta
class MonologueDetector(TextDetector):
    """Find the same reply in consecutive replies, none of which calls a tool.

    Asking again does not help a model that announces an action and does not take it. The comparison
    ignores case, spaces, and numbers at the beginning of a line. A user message in between is
    progress.

    Args:
        threshold: equal consecutive replies, 2 or more.

    Raises:
        ValueError: if threshold is below 2.

    >>> replies = ["Let me check.", "let me  check.", "Let me check."]
    >>> MonologueDetector(3).check_replies(replies).message
    'The model gave the same reply 3 times in a row without calling a tool: "Let me check."'
    """

    name = "monologue"
    unit = "in a row"

    def __init__(self, threshold: int = 3) -> None:
        check_threshold("threshold", threshold)
        self.threshold = threshold

    @property
    def needed(self) -> Tuple[str, int]:
        """Name and value of the option that sets the threshold."""
        return "threshold", self.threshold

    def watch(self, masking: Masking = SECRETS) -> TextWatch:
        """Begin to watch a run; `masking` hides what must not be shown of its words."""
        return _Replies(self.name, self.threshold, masking)


class _Replies(TextWatch):
    """The number of times that the latest reply came in a row."""

    def __init__(self, name: str, threshold: int, masking: Masking) -> None:
        self._name = name
        self._threshold = threshold
        self._masking = masking
        self._latest, self._count = "", 0

    @property
    def count(self) -> Optional[int]:
        return self._count or None

    def saying(self, piece: str) -> Optional[LoopDetection]:  # noqa: ARG002 - not yet a reply
        return None

    def said(self, text: str) -> Optional[LoopDetection]:
        key = _compared(text)
        if not key:
            return None
        # Only a fingerprint is kept, so a snapshot does not hold what was said.
        fingerprint = text_fingerprint(key)[:KEY_LENGTH]
        self._count = self._count + 1 if fingerprint == self._latest else 1
        self._latest = fingerprint
        if self._count < self._threshold:
            return None
        message = f"The model gave the same reply {self._count} times in a row"
        message += " without calling a tool"
        return text_detection(self._name, message, text, self._count, key, self._masking)

    def moved(self) -> None:
        self._latest, self._count = "", 0

    def to_dict(self) -> Dict[str, Any]:
        return {"latest": self._latest, "count": self._count}

    def load(self, state: Mapping[str, Any]) -> None:
        if state:  # the state of another detector of replies may be empty
            self._latest, self._count = str(state["latest"]), int(state["count"])


def _compared(text: str) -> str:
    r"""Return the part of a reply that is compared; empty if the reply has no words.

    >>> _compared("Attempt 2:  I look\ninto it.") == _compared("attempt 3: I look into it.")
    True
    """
    bare = " ".join(_NUMBERING.sub("", text).split())
    # A reply of numbers alone would leave nothing to compare.
    return (bare or " ".join(text.split())).casefold()
