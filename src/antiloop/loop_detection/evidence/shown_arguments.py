"""The arguments of a call, for a person or a model to read."""

import json
from typing import Any

from ..text.canonical import canonical_json
from ..text.masking import Masking
from ..text.shortening import beginning_of, shortened

_WHOLE = 2_000  # characters of JSON that a finding holds


class ShownArguments:
    """What may be shown of the arguments of a call.

    Args:
        label: the arguments as JSON, masked and shortened; empty where they are not known.
        is_whole: whether that is all of them.
        text: the same, not shortened; by default the label.
    """

    __slots__ = ("_text", "is_whole", "label")

    def __init__(self, label: str, is_whole: bool = False, text: str = "") -> None:
        self.label = label
        self.is_whole = is_whole
        self._text = text

    @classmethod
    def of(cls, arguments: Any, masking: Masking) -> "ShownArguments":
        """Mask and shorten arguments."""
        text = _masked(arguments, masking)
        label = shortened(text)
        return cls(label, label == text, text)

    @classmethod
    def of_long(cls, arguments: Any, masking: Masking) -> "ShownArguments":
        """Mask and shorten the beginning of arguments that are too long to be kept."""
        return cls(shortened(_masked(beginning_of(arguments), masking)))

    @property
    def value(self) -> Any:
        """The arguments as plain JSON; shortened text where long or not known."""
        text = self.label if self.is_whole else self._text
        return json.loads(text) if 0 < len(text) <= _WHOLE else self.label


def _masked(arguments: Any, masking: Masking) -> str:
    return canonical_json(masking.arguments(arguments))


UNKNOWN_ARGUMENTS = ShownArguments("")
"""Where nothing is known of them any more."""
