"""Arguments in which the model says why it makes a call, as some hosts ask it to.

Their names differ from host to host, so they are learned from the run: a sentence that nearly every
call has, of whatever tool, beside other arguments that tell the calls apart. From then on it is
left out, or a call for another reason would be another call.
"""

import json
from typing import Any, Dict, FrozenSet, NamedTuple
from zlib import crc32

from ..._latest import Latest
from ..._text.canonical import plain_json
from .document import encoded

_TOOLS, _CALLS = 3, 6
"""Tools that have an argument before it is left out, and calls that differ in the others."""
_SIZE = 2 * _CALLS
"""Calls by which it is decided; the next ones are a new chance."""
_NAMES = 8  # of arguments that are followed
_LONGEST_NAME = 100
_WORDS = 4  # of the shortest sentence


class _Row(NamedTuple):
    """Calls that have an argument, from the second tool on that has it."""

    first: int
    """The number of calls before them."""
    size: int
    tools: FrozenSet[str]
    rests: FrozenSet[int] = frozenset()
    """Checksums of the tools together with the other arguments."""

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
        self._rows: Latest[str, _Row] = Latest(_NAMES)

    def learn(self, tool: str, arguments: Any) -> None:
        """Learn from a call."""
        self._count += 1
        if not isinstance(arguments, dict) or len(arguments) < 2:
            return
        for name, value in arguments.items():
            if name not in self._known and _is_sentence(value) and len(name) <= _LONGEST_NAME:
                row = self._row_with(name, tool, arguments)
                self._rows[name] = row
                if row.is_of_comments(self._count):
                    self._known |= {name}

    def _row_with(self, name: str, tool: str, arguments: Dict[str, Any]) -> _Row:
        """Return the row of an argument with a further call."""
        row = self._rows.get(name)
        tools = frozenset((tool,)) if row is None or row.size >= _SIZE else row.tools | {tool}
        # The text of an answer or the line of a shell has one tool, and need not be compared.
        if row is None or len(tools) == 1:
            return _Row(self._count, 0, tools)
        rest = plain_json([tool, _without(arguments, frozenset((name,)))])
        return _Row(row.first, row.size + 1, tools, row.rests | {crc32(encoded(rest))})

    def without(self, arguments: Any) -> Any:
        """Return arguments without the comments that are known, or the same object."""
        if not (isinstance(arguments, dict) and self._known.intersection(arguments)):
            return arguments
        return _without(arguments, self._known) or arguments

    def to_text(self) -> str:
        """Return the state as one text."""
        rows = [
            (name, row.first, row.size, sorted(row.tools), sorted(row.rests))
            for name, row in self._rows.items()
        ]
        return json.dumps([sorted(self._known), self._count, rows], separators=(",", ":"))

    def load(self, text: str) -> None:
        """Load a state from `to_text`.

        Raises:
            TypeError, ValueError: if the text is malformed.
        """
        known, count, rows = json.loads(text)
        self._known, self._count = frozenset(map(str, known)), int(count)
        for name, first, size, tools, rests in rows:
            row = _Row(
                int(first), int(size), frozenset(map(str, tools)), frozenset(map(int, rests))
            )
            self._rows[str(name)] = row


def _is_sentence(value: Any) -> bool:
    if not isinstance(value, str) or "\n" in value:
        return False
    return value.count(" ") >= _WORDS - 1 or not value.isascii()  # not all scripts have spaces


def _without(arguments: Dict[str, Any], names: FrozenSet[str]) -> Dict[str, Any]:
    return {name: value for name, value in arguments.items() if name not in names}
