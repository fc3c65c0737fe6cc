"""The arguments of a call, for a person or a model to read."""

import json
from typing import Any, NamedTuple

from ..._text.canonical import readable_json
from ..._text.masking import Masking
from ..._text.shortening import beginning_of, shortened
from .noise import command_line

_WHOLE = 2_000  # characters of JSON that a finding holds
_WORDS = 80  # characters of the text that names a call


class ShownArguments(NamedTuple):
    """The arguments of a call, as far as they may be shown."""

    label: str
    """As JSON, masked and shortened; empty where they are not known."""
    text: str = ""
    """The same, not shortened; empty where that is not known, or too long for a finding."""
    words: str = ""
    """The one text that tells the call from others, e.g. its command line; empty where there are
    none or several."""

    @classmethod
    def of(cls, arguments: Any, masking: Masking) -> "ShownArguments":
        """Mask and shorten arguments."""
        shown = masking.arguments(arguments)
        text = readable_json(shown)
        words = shortened(_telling(shown), _WORDS)
        return cls(shortened(text), text if len(text) <= _WHOLE else "", words)

    @classmethod
    def of_long(cls, arguments: Any, masking: Masking) -> "ShownArguments":
        """Mask and shorten the beginning of arguments that are too long to be kept."""
        shown = cls.of(beginning_of(arguments), masking)
        return cls(shown.label, "", shown.words)

    @property
    def is_whole(self) -> bool:
        """Whether the label is all of them."""
        return bool(self.text) and self.text == self.label

    @property
    def value(self) -> Any:
        """The arguments as plain JSON; the label where they are too long or not known."""
        return json.loads(self.text) if self.text else self.label


def _telling(arguments: Any) -> str:
    """Return the command line, or the only text; for most tools that is what a person looks for."""
    command = command_line(arguments)
    if command is not None or not isinstance(arguments, dict):
        return command or ""
    texts = [each for each in arguments.values() if isinstance(each, str)]
    return texts[0] if len(texts) == len(arguments) == 1 else ""
