"""Lines that a host puts around every answer: an id, the time, how long it took.

No list of hosts knows them all, so they are learned from the run: a line at an end of an answer
that came in the same words, but with another id or time, with the answers to several different
calls says nothing of any of them. From then on it is left out, or each answer of that host would be
news.
"""

from typing import Any, List, Optional

from ..._latest import Latest
from ..._text.canonical import plain_json
from .fingerprint import text_fingerprint
from .noise import marks_in, without_marks

_FIRST = 2
"""Lines at the beginning of an answer that may be those of a host; at its end it is one."""
_LONGEST = 120
_SEEN = 4
"""Different calls whose answers had the line, before it is left out."""
_MOST = 8  # lines that are remembered
_DIGITS, _HALF = 8, 4


class HostLines:
    """The lines of the host of one run, as far as they are known."""

    def __init__(self) -> None:
        # By the words of a line, where it was seen: some digits of each call, and of the line.
        self._seen: Latest[str, str] = Latest(_MOST)

    def without(self, text: str, call: str, arguments: Any) -> str:
        """Return the answer to a call without the lines that are known, and remember the others."""
        lines = _ends_of(text)
        keys = [_key_of(line, arguments) for line in lines]
        if not any(keys):
            return text
        if not all(keys):  # else they may be all that is said
            for line, key in zip(lines, keys):
                if key is not None:
                    self._note(key, call[:_HALF], text_fingerprint(line)[:_HALF])
        kept = [line for line, key in zip(lines, keys) if key is None or not self._is_known(key)]
        return text if len(kept) == len(lines) else "\n".join(kept)

    def to_text(self) -> str:
        """Return the state as one text."""
        return " ".join(f"{key}{seen}" for key, seen in self._seen.items())

    def load(self, text: str) -> None:
        """Load a state from `to_text`."""
        for each in text.split():
            self._seen[each[:_DIGITS]] = each[_DIGITS:]

    def _note(self, key: str, call: str, line: str) -> None:
        seen = self._seen.get(key, "")
        parts = [seen[at : at + _HALF] for at in range(0, len(seen), _HALF)]
        # The same call may ask for the next of many, and a prompt is the same each time.
        is_new = call not in parts[::2] and line not in parts[1::2]
        self._seen[key] = seen + call + line if is_new and not self._is_known(key) else seen

    def _is_known(self, key: str) -> bool:
        return len(self._seen.get(key, "")) >= _SEEN * _DIGITS


def _ends_of(text: str) -> List[str]:
    """Split a text into the lines at its ends, and all that stands between them."""
    *first, rest = text.rstrip().split("\n", _FIRST)
    return [*first, *(rest.rsplit("\n", 1) if len(first) == _FIRST else [rest])]


def _key_of(line: str, arguments: Any) -> Optional[str]:
    """Return what is remembered of a line with an id or a time that was not asked for."""
    marks = marks_in(line) if len(line) <= _LONGEST and "\n" not in line else []
    asked = plain_json(arguments) if marks else ""
    if not marks or any(each in asked for each in marks):
        return None
    return text_fingerprint(without_marks(line))[:_DIGITS]
