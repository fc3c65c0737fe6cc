"""Copies of the last calls and results of a run, for custom detectors."""

from collections import deque
from itertools import zip_longest
from typing import Deque, Optional, Sequence, Tuple

from ...types import ToolCall
from ..detectors.base import WindowDetector
from ..detectors.text_detector import TextDetector
from ..evidence.compared import Result
from ..settings import DetectorSettings
from .own_copy import own_copy

Lists = Tuple[Sequence[ToolCall], Sequence[Result]]
"""Calls, and a result for each."""


class CallCopies:
    """The last calls and results as they were when they came, for custom detectors.

    Args:
        size: how many calls there are at most.
    """

    def __init__(self, size: int) -> None:
        self._kept: Deque[Tuple[ToolCall, Result]] = deque(maxlen=size)

    @classmethod
    def of(cls, detector: DetectorSettings) -> "Optional[CallCopies]":
        """Make the copies of a run; None without a custom detector."""
        built_in = (WindowDetector, TextDetector)
        is_custom = any(not isinstance(each, built_in) for each in detector.detectors)
        return cls(detector.window) if is_custom else None

    def add(self, calls: Sequence[ToolCall], results: Sequence[Result]) -> None:
        """Copy a round; results that are missing are unknown."""
        pairs = zip_longest(calls, results[: len(calls)])
        self._kept.extend(own_copy(*pair) for pair in pairs)

    def lists(self) -> Lists:
        """Return all calls and results, oldest first."""
        calls, results = zip(*self._kept) if self._kept else ((), ())
        return calls, results

    def clear(self) -> None:
        """Forget all of them."""
        self._kept.clear()
