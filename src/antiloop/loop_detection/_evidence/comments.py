"""Arguments that comment on a call: why the model makes it, its id, its time or its number.

Their names differ from host to host, so they are learned from the run: a sentence that nearly every
call has, of whatever tool, beside other arguments that tell the calls apart. So is an id, a time or
a number that is another one in each of them; where few tools have it, numbers only rise or only
fall. From then on it is left out, or a call for another reason, or at another time, would be
another call.
"""

import json
import re
from typing import Any, Dict, FrozenSet, NamedTuple, Optional, Tuple, Union
from zlib import crc32

from ..._text.canonical import plain_json
from .document import encoded

_TOOLS, _CALLS = 3, 6
"""Tools that have an argument before it is left out, and calls that differ in the others."""
_SIZE = 2 * _CALLS
"""Calls by which it is decided; the next ones are a new chance."""
_NAMES = 8  # of arguments that are followed
_LONGEST_NAME = 100
_LARGEST = 1e20
"""Numbers below it are compared as such; there are nanoseconds among them."""
_WORDS = 4  # of the shortest sentence
# An id, or a time.
_MARK = re.compile(r"[\d:.,+TZ -]{1,40}|[0-9a-f-]{8,64}|(?:[A-Za-z]{1,16}_)?[0-9A-Za-z]{12,64}")

_Mark = Union[str, float]
"""A number, or the checksum of an id or a time."""


class _Row(NamedTuple):
    """Calls that have an argument, as checksums; of a sentence, one at least of another tool."""

    first: int
    """The number of the first of them."""
    size: int = 0
    """The calls after the first."""
    marks: Tuple[_Mark, ...] = ()
    """The numbers, ids and times that it had, in the order of the calls."""
    tools: FrozenSet[int] = frozenset()
    rests: FrozenSet[int] = frozenset()
    """The tools together with the other arguments."""

    def then(self, tool: int, mark: Optional[_Mark]) -> "_Row":
        """Return the row with a further call, whose mark is None in a sentence."""
        marks = self.marks if mark is None else (*self.marks, mark)
        return self._replace(tools=self.tools | {tool}, marks=marks)

    def is_of_comments(self, count: int) -> bool:
        """Whether nearly all of so many calls have the argument, and it tells none apart."""
        is_usual = 5 * self.size >= 4 * (count - self.first)
        is_beside = 3 * len(self.rests) >= 2 * self.size
        if not (is_usual and is_beside and len(self.rests) >= _CALLS):
            return False
        numbers = [mark for mark in self.marks if not isinstance(mark, str)]
        has_order = sorted(numbers) in (numbers, numbers[::-1])
        return len(self.tools) >= _TOOLS or (bool(self.marks) and has_order)


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
        shared = [name for name, row in rows.items() if row.first < self._count]
        sentences = [name for name in shared if marks[name] is None]
        others = [name for name in shared if marks[name] is not None]
        # An id may be what a call is about: beside a sentence it tells calls apart, beside another
        # id it does not.
        for names, left_out in ((sentences, sentences), (others, shared)):
            if names:
                rest = _without(arguments, self._known.union(left_out))
                checksum = _checksum(plain_json([tool, rest]))
                for name in names:
                    row = rows[name]
                    rows[name] = row._replace(size=row.size + 1, rests=row.rests | {checksum})
        before = [(name, row) for name, row in self._rows.items() if name not in rows]
        self._rows = dict([*before, *sorted(rows.items())][-_NAMES:])
        self._known |= {name for name in shared if rows[name].is_of_comments(self._count)}

    def _row_with(self, tool: int, name: str, mark: Optional[_Mark]) -> _Row:
        """Return the row of an argument with a further call, or the one that begins with it."""
        row = self._rows.get(name) or _Row(self._count)
        is_over = row.size >= _SIZE or mark in row.marks
        # A question or the line of a shell, which one tool has, tells calls apart.
        is_of_one = mark is None and row.tools == {tool}
        return (_Row(self._count) if is_over or is_of_one else row).then(tool, mark)

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
        for name, first, size, marks, *sets in rows:
            tools, rests = (frozenset(map(int, each)) for each in sets)
            marks = tuple(each if isinstance(each, (str, int)) else float(each) for each in marks)
            self._rows[str(name)] = _Row(int(first), int(size), marks, tools, rests)


def _marks_in(arguments: Any, known: FrozenSet[str]) -> Dict[str, Optional[_Mark]]:
    """Return the id, time or number in each argument that may be a comment; None in a sentence.

    A comment is not all that is asked.
    """
    if not isinstance(arguments, dict) or len(arguments) < 2:
        return {}
    marks: Dict[str, Optional[_Mark]] = {}
    for name, value in arguments.items():
        if len(name) <= _LONGEST_NAME and name not in known:
            if _is_sentence(value):
                marks[name] = None
            elif _is_mark(value):
                marks[name] = f"{_checksum(value):x}" if isinstance(value, str) else value
    return marks


def _is_mark(value: Any) -> bool:
    if isinstance(value, str):
        return _MARK.fullmatch(value) is not None and any(map(str.isdigit, value))
    return type(value) in (int, float) and abs(value) < _LARGEST


def _is_sentence(value: Any) -> bool:
    if not isinstance(value, str) or "\n" in value:
        return False
    return value.count(" ") >= _WORDS - 1 or not value.isascii()  # not all scripts have spaces


def _without(arguments: Dict[str, Any], names: FrozenSet[str]) -> Dict[str, Any]:
    return {name: value for name, value in arguments.items() if name not in names}


def _checksum(text: str) -> int:
    return crc32(encoded(text)) & 0xFFFF  # short: few are compared, and all are in each snapshot
