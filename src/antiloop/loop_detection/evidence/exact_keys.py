"""What the same call and the same result have in common."""

from typing import Any, Hashable, Optional, Tuple, Union

from .fingerprint import KEY_LENGTH, call_key, text_fingerprint
from .kept_text import KeptText


class ExactKeys:
    """The keys by which a call and its result are found in a window, and their fingerprints.

    As long as the texts are at hand, they are the keys: nothing is hashed that is compared in one
    process only. Fingerprints are made when they are first asked for: for what leaves the process,
    and where an earlier call is known by them alone.
    """

    __slots__ = ("_arguments", "_call", "_result", "_text", "answer", "key", "said", "tool")

    # `CallFeatures` sets these itself, since that is done for every call.
    tool: str
    key: Hashable
    """Equal for equal calls of a window."""
    said: Hashable
    """Equal for equal results of a window; None where the result is not known."""
    answer: Tuple[str, Hashable, str]
    """The result as that of this tool."""
    _call: Optional[str]
    _result: Optional[str]
    _arguments: Any
    """The compared arguments; ``...``, not a valid value, where they are no longer known."""
    _text: Union[KeptText, str, None]

    @property
    def call(self) -> str:
        """The fingerprint of the call."""
        if self._call is None:
            self._call = call_key(self.tool, self._arguments)
        return self._call

    @property
    def result(self) -> Optional[str]:
        """The fingerprint of the result, None where it is not known."""
        if self._result is None and self.said is not None:
            self._result = text_fingerprint(str(self._text))[:KEY_LENGTH]
        return self._result

    def compare_as(self, call: str, result: Optional[str]) -> None:
        """Take fingerprints for keys, as where nothing else is known of a call."""
        self.key = self._call = call
        self._answer_as(result)
        self._result = result

    def _answer_as(self, said: Hashable) -> None:
        self.said = said
        self.answer = self.tool, said, "answer"
