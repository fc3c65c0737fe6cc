"""What the same call and the same result have in common."""

from typing import Any, Hashable, Optional, Tuple, Union

from .fingerprint import KEY_LENGTH, short_call_fingerprint, text_fingerprint
from .kept_text import KeptText


class ExactKeys:
    """The keys by which a call and its result are found in a window, and their fingerprints.

    The values themselves are the keys, so a call that is never compared further is never hashed;
    only long arguments and long results are keyed by a digest. Fingerprints are made when they are
    first asked for: for findings, snapshots, and windows that hold calls known by fingerprint only.
    """

    __slots__ = (
        *("_arguments", "_call", "_result", "_text"),
        *("answer_key", "call_key", "result_key", "tool"),
    )

    # No __init__: `CallFeatures` sets these in its own, to save a call for each step.
    tool: str
    call_key: Hashable
    """Equal for equal calls of a window."""
    result_key: Hashable
    """Equal for equal results of a window; None where the result is not known."""
    answer_key: Tuple[str, Hashable, str]
    """The result as that of this tool; three parts, so that it never equals another key."""
    _call: Optional[str]
    _result: Optional[str]
    _arguments: Any
    """The compared arguments; ``...``, not a valid value, where they are no longer known."""
    _text: Union[KeptText, str, None]

    @property
    def call(self) -> str:
        """The fingerprint of the call."""
        if self._call is None:
            self._call = short_call_fingerprint(self.tool, self._arguments)
        return self._call

    @property
    def result(self) -> Optional[str]:
        """The fingerprint of the result, None where it is not known."""
        if self._result is None and self.result_key is not None:
            self._result = text_fingerprint(str(self._text))[:KEY_LENGTH]
        return self._result

    def compare_as(self, call: str, result: Optional[str]) -> None:
        """Take fingerprints for keys, as where nothing else is known of a call."""
        self.call_key = self._call = call
        self._result = result
        self._take_result_key(result)

    def _take_result_key(self, result_key: Hashable) -> None:
        self.result_key = result_key
        self.answer_key = self.tool, result_key, "answer"
