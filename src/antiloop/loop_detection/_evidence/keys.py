"""The keys that detectors declare, by which they compare calls."""

import logging
from typing import Callable, Dict, Mapping, Optional, Union

from ...types import ToolCall, ToolResult
from .asked import Asked
from .fingerprint import KEY_LENGTH, text_fingerprint

KeyRule = Callable[[ToolCall, Optional[ToolResult]], Union[str, int, None]]
"""A function that a detector declares: what it compares of a call and its result (None where that
is unknown). A text is compared for equality, a whole number also by size; None is not compared."""

MOST = 16**KEY_LENGTH - 1
"""The largest number that a key may be."""

_logger = logging.getLogger("antiloop")


class DeclaredKey:
    """A key that a detector declares.

    Args:
        detector: the name of the detector.
        name: the name of the key.
        rule: the function that gives what is compared.
    """

    def __init__(self, detector: str, name: str, rule: KeyRule) -> None:
        self.rule = rule
        self._named = f"key {name!r} of detector {detector!r}"
        self._has_raised = False

    def of(self, call: ToolCall, result: Optional[ToolResult]) -> Optional[str]:
        """Return what is kept of a call to compare it; None if the rule gives None, or raises."""
        try:
            value = self.rule(call, result)
            return None if value is None else key_of(value)
        except Exception:
            # A rule that does not fit raises at every call: its first error tells enough.
            if not self._has_raised:
                self._has_raised = True
                _logger.exception("%s raised: the call has none; this is logged once", self._named)
            return None


Keys = Mapping[str, DeclaredKey]
"""The keys that detectors declare, by name."""


def declared_keys(
    keys: Keys, asked: Asked, text: Optional[str], is_failure: bool
) -> Dict[str, Optional[str]]:
    """Compute the keys that detectors declare."""
    call = ToolCall(asked.tool, asked.arguments)
    result = None if text is None else ToolResult(text, is_failure)
    return {name: key.of(call, result) for name, key in keys.items()}


def key_of(value: Union[str, int]) -> str:
    """Return what is kept of a value to compare it: a fingerprint, or the digits of a number.

    Raises:
        ValueError: for another value, or a number below 0 or above `MOST`.

    >>> key_of(12) < key_of(13), len(key_of("text")) == len(key_of(13))
    (True, True)
    """
    if isinstance(value, str):
        return text_fingerprint(value)[:KEY_LENGTH]
    if not (isinstance(value, int) and 0 <= value <= MOST):
        raise ValueError(f"a key must be a text or a whole number from 0 to {MOST}, got {value!r}")
    return f"{value:0{KEY_LENGTH}x}"
