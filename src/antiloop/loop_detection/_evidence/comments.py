"""Arguments that comment on a call: why the model makes it, its id, its time or its number.

Their names differ from host to host, so they are learned from the run: a sentence that nearly every
call has, of whatever tool, beside other arguments that tell the calls apart. So is an id, a time or
a number that is another one in each of them. From then on it is left out, or a call for another
reason, or at another time, would be another call.
"""

import json
import re
from typing import Any, Dict, FrozenSet, NamedTuple
from zlib import crc32

from ..._text.canonical import plain_json
from .document import encoded

_TOOLS, _CALLS = 3, 6
"""Tools that have an argument before it is left out, and calls that differ in the others."""
_SIZE = 2 * _CALLS
"""Calls by which it is decided; the next ones are a new chance."""
_NAMES = 8  # of arguments that are followed
_LONGEST_NAME = 100
_WORDS = 4  # of the shortest sentence
# An id, or a time.
_MARK = re.compile(r"[\d:.,+TZ -]{1,40}|[0-9a-f-]{8,64}|(?:[A-Za-z]{1,16}_)?[0-9A-Za-z]{12,64}")
_NO_MARKS: FrozenSet[int] = frozenset()


class _Row(NamedTuple):
    """Calls that have an argument, from the second tool on that has it, as checksums."""

    first: int
    """The number of calls before them."""
    tools: FrozenSet[int]
    size: int = 0
    rests: FrozenSet[int] = frozenset()
    """The tools together with the other arguments."""
    marks: FrozenSet[int] = frozenset()
    """The ids, times and numbers that it had."""

    def then(self, rest: int, marks: FrozenSet[int]) -> "_Row":
        """Return the row with a further call."""
        rests = self.rests | {rest}
        return self._replace(size=self.size + 1, rests=rests, marks=self.marks | marks)

    def is_of_comments(self, count: int) -> bool:
        """Whether nearly all of so many calls have the argument, and it tells none apart."""
        is_usual = 5 * self.size >= 4 * (count - self.first)
        is_beside = 3 * len(self.rests) >= 2 * self.size
        return is_usual and is_beside and len(self.tools) >= _TOOLS and len(self.rests) >= _CALLS


class Comments:
    """The names of the arguments that only comment on the calls of one run, as far as known."""

    def __init__(self) -> None:
        self._known: FrozenSet[str] = frozenset()
        self._count = 0
        self._rows: Dict[str, _Row] = {}

    def learn(self, tool: str, arguments: Any) -> None:
        """Learn from a call."""
        self._count += 1
        marks = _marks_in(arguments, self._known)
        if not marks:
            return
        rows = {name: self._row_with(_checksum(tool), name, each) for name, each in marks.items()}
        # A question or the line of a shell, which one tool has, tells calls apart.
        shared = [name for name, row in rows.items() if len(row.tools) > 1]
        sentences = [name for name in shared if not marks[name]]
        others = [name for name in shared if marks[name]]
        # An id may be what a call is about: beside a sentence it tells calls apart, beside another
        # id it does not.
        for names, left_out in ((sentences, sentences), (others, shared)):
            if names:
                rest = _without(arguments, self._known.union(left_out))
                checksum = _checksum(plain_json([tool, rest]))
                for name in names:
                    rows[name] = rows[name].then(checksum, marks[name])
        before = [(name, row) for name, row in self._rows.items() if name not in rows]
        self._rows = dict([*before, *sorted(rows.items())][-_NAMES:])
        self._known |= {name for name in shared if rows[name].is_of_comments(self._count)}

    def _row_with(self, tool: int, name: str, marks: FrozenSet[int]) -> _Row:
        """Return the row of an argument with a further tool, or the one that begins with it."""
        row = self._rows.get(name)
        if row is None or row.size >= _SIZE or row.tools == {tool} or row.marks & marks:
            return _Row(self._count, frozenset((tool,)))
        return row._replace(tools=row.tools | {tool})

    def without(self, arguments: Any) -> Any:
        """Return arguments without the comments that are known, or the same object."""
        if not isinstance(arguments, dict) or self._known.isdisjoint(arguments):
            return arguments
        return _without(arguments, self._known) or arguments

    def to_text(self) -> str:
        """Return the state as one text."""
        rows = [(name, *row) for name, row in self._rows.items()]
        known = [self._known, self._count, rows]
        return json.dumps(known, default=sorted, separators=(",", ":"))

    def load(self, text: str) -> None:
        """Load a state from `to_text`.

        Raises:
            TypeError, ValueError: if the text is malformed.
        """
        known, count, rows = json.loads(text)
        self._known, self._count = frozenset(map(str, known)), int(count)
        for name, first, tools, size, *sets in rows:
            rests, marks = (frozenset(map(int, each)) for each in sets)
            self._rows[str(name)] = _Row(
                int(first), frozenset(map(int, tools)), int(size), rests, marks
            )


def _marks_in(arguments: Any, known: FrozenSet[str]) -> Dict[str, FrozenSet[int]]:
    """Return the id, time or number in each argument that may be a comment; none in a sentence.

    A comment is not all that is asked.
    """
    if not isinstance(arguments, dict) or len(arguments) < 2:
        return {}
    marks = {}
    for name, value in arguments.items():
        if len(name) <= _LONGEST_NAME and name not in known:
            if _is_sentence(value):
                marks[name] = _NO_MARKS
            elif _is_mark(value):
                marks[name] = frozenset((_checksum(str(value)),))
    return marks


def _is_mark(value: Any) -> bool:
    if isinstance(value, str):
        return _MARK.fullmatch(value) is not None and any(map(str.isdigit, value))
    return type(value) in (int, float)


def _is_sentence(value: Any) -> bool:
    if not isinstance(value, str) or "\n" in value:
        return False
    return value.count(" ") >= _WORDS - 1 or not value.isascii()  # not all scripts have spaces


def _without(arguments: Dict[str, Any], names: FrozenSet[str]) -> Dict[str, Any]:
    return {name: value for name, value in arguments.items() if name not in names}


def _checksum(text: str) -> int:
    return crc32(encoded(text))
