"""Custom detectors of calls: the copies that they are given, and the handling of their findings.

They see calls and results as these came, not the window, so a monitor keeps copies for them. What
they find is untrusted: it is masked, and completed by what the ladder needs.
"""

import logging
from copy import deepcopy
from dataclasses import replace
from itertools import zip_longest
from typing import Any, Iterable, Sequence, Tuple
from weakref import WeakSet

from ..._text.canonical import parsed_arguments, plain
from ..._text.masking import Masking
from ...types import ToolCall, ToolResult
from .._detection import LoopDetection
from .._evidence.answered import Result
from .._evidence.window import Window
from .base import BaseDetector, WindowDetector
from .text_detector import TextDetector

_logger = logging.getLogger("antiloop")
_HINTED: "WeakSet[type]" = WeakSet()
"""Classes of detectors for which the log has already explained what results are."""


class CallCopies:
    """The last calls and results of a run as they were when they came.

    Args:
        detectors: those of the run; without a custom one, nothing is kept.
        size: how many calls there are at most.
    """

    def __init__(self, detectors: Iterable[BaseDetector], size: int) -> None:
        built_in = (WindowDetector, TextDetector)
        is_needed = any(not isinstance(each, built_in) for each in detectors)
        self._size = size if is_needed else 0
        self._kept: Tuple[Tuple[ToolCall, Result], ...] = ()

    def add(self, calls: Sequence[ToolCall], results: Sequence[Result]) -> None:
        """Copy a round; results that are missing are unknown."""
        if not self._size:
            return
        for call, result in zip_longest(calls, results[: len(calls)]):
            arguments = _copied(call.arguments, parsed_arguments)
            copy = _copied(result, plain)
            # One form for all: a detector need not ask which it was given.
            known = ToolResult(copy) if isinstance(copy, str) else copy
            kept = (replace(call, arguments=arguments), known)
            self._kept = (*self._kept, kept)[-self._size :]

    def lists(self) -> Tuple[Sequence[ToolCall], Sequence[Result]]:
        """Return all calls, oldest first, and a result for each."""
        calls, results = zip(*self._kept) if self._kept else ((), ())
        return calls, results

    def clear(self) -> None:
        """Forget all of them."""
        self._kept = ()


def completed(found: LoopDetection, window: Window, given: int, masking: Masking) -> LoopDetection:
    """Complete and mask the finding of a custom detector.

    Args:
        found: what it returned; its indices count from the first call that it was given.
        window: what the built-in detectors see of the run.
        given: how many calls it was given.
        masking: what may be shown; the detector saw everything.
    """
    shift = window.call_count - given
    indices = tuple(index + shift for index in found.indices)
    concerned = [item for item in window if item.index in indices]
    members = found.members or tuple(item.call for item in concerned or window.rounds[-1].evidence)
    details = masking.value(dict(found.details))
    return replace(
        found,
        message=masking.text(found.message),
        # Logs and webhooks show the summary, which is the unmasked message if there is no other.
        summary=masking.text(found.summary),
        label=masking.text(found.label),
        answer=masking.text(found.answer),
        details=details if isinstance(details, dict) else {},
        identity=found.identity or f"{found.detector_name}:{found.details.get('tool', '')}",
        indices=indices,
        members=members,
    )


def hint_at_results(detector: BaseDetector, error: Exception, results: Sequence[Result]) -> None:
    """Explain in the log, once, what results are, if a detector may have taken them for texts."""
    kind = type(detector)
    if kind in _HINTED or not isinstance(error, (AttributeError, TypeError)):
        return
    if any(isinstance(each, ToolResult) for each in results):
        _HINTED.add(kind)
        _logger.warning(
            "detector %r may expect texts: results are ToolResult objects, or None where unknown;"
            " use result.text",
            detector.name,
        )


def _copied(value: Any, in_plain: Any) -> Any:
    """Copy a value; what cannot be copied is given as plain JSON."""
    try:
        return deepcopy(value)
    except Exception:  # noqa: BLE001 - foreign code ran
        return in_plain(value)
