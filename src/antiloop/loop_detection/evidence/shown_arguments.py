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
        text: the same, not shortened; empty where that is not known, or too long for a finding.
    """

    __slots__ = ("label", "text")

    def __init__(self, label: str, text: str = "") -> None:
        self.label = label
        self.text = text

    @classmethod
    def of(cls, arguments: Any, masking: Masking) -> "ShownArguments":
        """Mask and shorten arguments."""
        text = _masked(arguments, masking)
        return cls(shortened(text), text if len(text) <= _WHOLE else "")

    @classmethod
    def of_long(cls, arguments: Any, masking: Masking) -> "ShownArguments":
        """Mask and shorten the beginning of arguments that are too long to be kept."""
        return cls(shortened(_masked(beginning_of(arguments), masking)))

    @property
    def is_whole(self) -> bool:
        """Whether the label is all of them."""
        return bool(self.text) and self.text == self.label

    @property
    def value(self) -> Any:
        """The arguments as plain JSON; the label where they are too long or not known."""
        return json.loads(self.text) if self.text else self.label


def _masked(arguments: Any, masking: Masking) -> str:
    return canonical_json(masking.arguments(arguments))


UNKNOWN_ARGUMENTS = ShownArguments("")
"""Where nothing is known of them any more."""
