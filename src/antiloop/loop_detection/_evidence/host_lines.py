"""Lines that a host puts around every answer: an id, the time, how long it took.

No list of hosts knows them all, so they are learned from the run: a line at an end of an answer
that came in the same words, but with another id or time, with the answers to several different
calls says nothing of any of them. From then on it is left out, or each answer of that host would be
news.
"""

from typing import Any, FrozenSet, List
from zlib import crc32

from ..._latest import Latest
from ..._text.canonical import plain_json
from .document import encoded
from .noise import without_marks

_FIRST = 2
"""Lines at the beginning of an answer that may be those of a host; at its end it is one."""
_LONGEST = 120
_SEEN = 3
"""Different calls whose answers had the line, after the first one, before it is left out."""
_MOST = 8  # lines that are remembered
_DIGITS, _HALF = 8, 4
_HEXADECIMAL = b"0123456789abcdefABCDEF"
_NO_LINE = frozenset((0,))


class HostLines:
    """The lines of the host of one run, as far as they are known."""

    def __init__(self) -> None:
        # By the words of a line, where it was seen: some digits of each call, and of the line.
        self._seen: Latest[str, str] = Latest(_MOST)
        self._last: FrozenSet[int] = frozenset()

    def without(self, text: str, call: str, arguments: Any) -> str:
        """Return the answer to a call without the lines that are known, and remember the others."""
        lines, last = _ends_of(text), self._last
        shapes = list(map(_shape_of, lines))
        self._last = frozenset(shapes) - _NO_LINE
        # Most answers have other lines than the one before, so few are looked at.
        if last.isdisjoint(shapes):
            return text
        keys = [
            self._key_of(line, arguments) if shape in last else ""
            for line, shape in zip(lines, shapes)
        ]
        if not any(keys):
            return text
        if not all(keys):  # else they may be all that is said
            for line, key in zip(lines, keys):
                if key:
                    self._note(key, call[:_HALF], _digits(line)[:_HALF])
        kept = [line for line, key in zip(lines, keys) if not (key and self._is_known(key))]
        return text if len(kept) == len(lines) else "\n".join(kept)

    def to_text(self) -> str:
        """Return the state as one text."""
        last = ",".join(map(str, sorted(self._last)))
        return " ".join([last, *(f"{key}{seen}" for key, seen in self._seen.items())])

    def load(self, text: str) -> None:
        """Load a state from `to_text`.

        Raises:
            ValueError: if the text is malformed.
        """
        last, *known = text.split(" ")
        self._last = frozenset(map(int, filter(None, last.split(","))))
        for each in known:
            self._seen[each[:_DIGITS]] = each[_DIGITS:]

    def _key_of(self, line: str, arguments: Any) -> str:
        """Return what is remembered of a line; empty if it holds no mark that was not asked for."""
        words, marks = without_marks(line)
        key = _digits(words) if marks else ""
        if not key or self._is_known(key):
            return key
        asked = plain_json(arguments)
        return "" if any(each in asked for each in marks) else key

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


def _shape_of(line: str) -> int:
    """Return what lines have in common that differ in numbers and hexadecimal ids alone.

    0 for what cannot be a line of a host.
    """
    if len(line) > _LONGEST or "\n" in line:
        return 0
    return crc32(encoded(line).translate(None, _HEXADECIMAL))


def _digits(text: str) -> str:
    return f"{crc32(encoded(text)):08x}"
