"""Lines that a host puts around every answer: an id, the time, how many turns are left.

No list of hosts knows them all, so they are learned from the run. A line at an end of several
answers in a row says nothing of any of them, if its words are the same, but its ids and times are
others each time, whatever was asked and whatever else was said. So does a number that only rises or
only falls with the answers of several tools; with those of one tool it may count what is done,
unless it goes by one with each answer. From then on the line is left out, or each answer of that
host would be news. Of an object, each field is such a line.
"""

import json
import re
from string import ascii_letters, digits
from typing import Any, Dict, FrozenSet, List, NamedTuple, Optional, Tuple
from zlib import crc32

from ..._text.canonical import plain_json
from .document import encoded
from .noise import command_line
from .structure import parsed

_FIRST, _LAST = 5, 3
"""Lines at the beginning and at the end of an answer that may be those of a host."""
_REACH = 400
"""Characters at both ends in which they stand."""
_LONGEST = 120
_ANSWERS, _CALLS, _RESTS, _SOURCES = 4, 3, 2, 2
"""Answers in a row that have a line before it is left out; the different calls, other words and,
for a number, tools or commands among them."""
_MOST = 8  # lines that are known
_NUMBER = re.compile(r"(\d[\w.:,-]*(?: (?:[nmuµ]?s|secs?|seconds?|minutes?)\b)?)")
_BEGINNING = re.compile(r"[^\n:<{]{0,40}?\d[^\n:<{]{0,9}?[:\])|>][ \t]")
_COUNT = re.compile(r"[\d,]{1,9}(?:\.\d{1,9})?")
"""A number that may count something; a longer one is an id, or a time."""
_BEFORE_A_DIGIT = f"{ascii_letters}_-."  # in the id that it is part of
_LETTERS_AND_DIGITS = f"{ascii_letters}{digits}".encode()
_DIGITS = digits.encode()


class _Row(NamedTuple):
    """Answers in a row that have a line of the same words; texts are kept as checksums."""

    size: int = 0
    lines: Tuple[int, ...] = ()
    """The latest of them."""
    counts: Tuple[float, ...] = ()
    rises: Optional[bool] = None
    counts_calls: bool = True
    """Whether one of the numbers went by one from each to the next, and the others stayed."""
    calls: FrozenSet[str] = frozenset()
    rests: FrozenSet[int] = frozenset()
    sources: FrozenSet[int] = frozenset()

    def then(
        self, line: int, counts: Tuple[float, ...], call: str, rest: int, source: int
    ) -> "_Row":
        """Return the row with a further answer, or the one that begins with it."""
        rises = self.rises if counts == self.counts or not self.size else counts > self.counts
        if line in self.lines or self.rises not in (None, rises):
            return _NO_ROW.then(line, counts, call, rest, source)
        counts_calls = self.counts_calls and (not self.size or _differ_by_one(counts, self.counts))
        calls = self.calls if len(self.calls) == _CALLS else self.calls | {call}
        rests = self.rests if len(self.rests) == _RESTS else self.rests | {rest}
        sources = self.sources if len(self.sources) == _SOURCES else self.sources | {source}
        lines = (*self.lines, line)[-_ANSWERS:]
        return _Row(self.size + 1, lines, counts, rises, counts_calls, calls, rests, sources)

    @property
    def is_of_host(self) -> bool:
        """Whether the line says nothing of the answers."""
        is_frequent = self.size >= _ANSWERS and len(self.calls) == _CALLS
        is_of_many = self.rises is None or self.counts_calls or len(self.sources) == _SOURCES
        return is_frequent and is_of_many and len(self.rests) == _RESTS


_NO_ROW = _Row()


class _Line(NamedTuple):
    words: int
    """A checksum of all but its marks."""
    marks: List[str]
    """The ids, times and numbers in it, one at least."""


class HostLines:
    """The lines of the host of one run, as far as they are known."""

    def __init__(self) -> None:
        # By their words.
        self._known: Tuple[int, ...] = ()
        # Of the answer before: what its lines looked like, and the rows that it continues.
        self._shapes: FrozenSet[int] = frozenset()
        self._rows: Dict[int, _Row] = {}

    def without(self, text: str, tool: str, call: str, arguments: Any) -> str:
        """Return the answer to a call without the lines that are known, and remember the others."""
        apart = _ends_apart(text)
        lines = _ends_of(apart, tool)
        shapes = _shapes_of(lines)
        last, self._shapes = self._shapes, frozenset(shapes)
        rows, self._rows = self._rows, {}
        # Most answers have other lines than the one before, so few are looked at.
        marked = [_read(line) if shape in last else None for line, shape in zip(lines, shapes)]
        if not any(marked):
            return text
        said = [
            _checksum(line) if each is None else each.words for line, each in zip(lines, marked)
        ]
        # Each command of a shell is a tool by itself.
        source = crc32(encoded(tool if command_line(arguments) is None else call))
        for at, line in enumerate(marked):
            if line is not None:
                rest = crc32(repr(said[:at] + said[at + 1 :]).encode())
                row = rows.get(line.words, _NO_ROW)
                row = row.then(crc32(encoded(lines[at])), _counts(line.marks), call, rest, source)
                self._rows[line.words] = row
                if row.is_of_host and not _were_asked_for(line.marks, arguments):
                    self._know(line.words)
        left_out = [
            at for at, line in enumerate(marked) if line is not None and line.words in self._known
        ]
        return _without(apart, lines, left_out) if left_out else text

    def _know(self, words: int) -> None:
        self._known = (*(each for each in self._known if each != words), words)[-_MOST:]

    def to_text(self) -> str:
        """Return the state as one text."""
        rows = [(words, *row) for words, row in self._rows.items()]
        known = [self._known, self._shapes, rows]
        return json.dumps(known, default=sorted, separators=(",", ":"))

    def load(self, text: str) -> None:
        """Load a state from `to_text`.

        Raises:
            TypeError, ValueError: if the text is malformed.
        """
        known, shapes, rows = json.loads(text)
        self._known = tuple(map(int, known))
        self._shapes = frozenset(map(int, shapes))
        for words, size, lines, counts, rises, counts_calls, calls, rests, sources in rows:
            self._rows[int(words)] = _Row(
                int(size),
                tuple(map(int, lines)),
                tuple(map(float, counts)),
                None if rises is None else bool(rises),
                bool(counts_calls),
                frozenset(map(str, calls)),
                frozenset(map(int, rests)),
                frozenset(map(int, sources)),
            )


def _ends_apart(text: str) -> str:
    """Return a text with a line for its beginning, such as "Answer 5:", and for its end."""
    begin = _BEGINNING.match(text)
    if begin:
        text = f"{begin[0].rstrip()}\n{text[begin.end() :]}"
    if text[-1:] in (")", "]"):
        at = max(text.rfind(f" {sign}", -_LONGEST) for sign in "([")
        text = text if at < 0 else f"{text[:at]}\n{text[at + 1 :]}"
    return text


def _ends_of(text: str, tool: str) -> List[str]:
    """Return the lines at both ends of a text, or an object's fields, without the tool's name."""
    text, between = text.rstrip(), "\n"
    if _is_object(text):
        text, between = text[2:-1].replace("\n", " "), ', "' if '": ' in text[:_LONGEST] else ',"'
    if len(text) > 2 * _REACH:  # what is cut makes one line that is too long
        text = f"{text[:_REACH]}{'-' * _LONGEST}{text[-_REACH:]}"
    lines = text.replace(tool, "").split(between)
    return lines if len(lines) <= _FIRST + _LAST else [*lines[:_FIRST], *lines[-_LAST:]]


def _without(text: str, lines: List[str], left_out: List[int]) -> str:
    """Return a text without some of the lines at its ends; an object that is none stays."""
    if _is_object(text.rstrip()):
        value = parsed(text)
        if value is None:
            return text
        names = {lines[at].partition('"')[0] for at in left_out}
        kept = {name: each for name, each in value.items() if name not in names}
        texts = [each for each in kept.values() if isinstance(each, str)]
        return texts[0] if len(texts) == len(kept) == 1 else json.dumps(kept, ensure_ascii=False)
    every = text.rstrip().split("\n")
    gone = {at if at < _FIRST else at + len(every) - len(lines) for at in left_out}
    return "\n".join(line for at, line in enumerate(every) if at not in gone)


def _is_object(text: str) -> bool:
    return text[:2] == '{"' and text[-1] == "}"


def _shapes_of(lines: List[str]) -> List[int]:
    """Return what lines have in common that differ in letters and digits alone."""
    signs = encoded("\n".join(lines)).translate(None, _LETTERS_AND_DIGITS)
    return list(map(crc32, signs.split(b"\n")))


def _checksum(text: str) -> int:
    """Return a checksum of a text; numbers do not matter."""
    return crc32(encoded(text).translate(None, _DIGITS))


def _read(line: str) -> Optional[_Line]:
    """Read a line; None if nothing in it may be other each time."""
    *parts, end = _NUMBER.split(line[: _LONGEST + 1])
    if not parts or len(line) > _LONGEST:
        return None
    words = [before.rstrip(_BEFORE_A_DIGIT) for before in parts[::2]]
    marks = [
        (before[len(word) :] + number).rstrip(".:,")
        for before, word, number in zip(parts[::2], words, parts[1::2])
    ]
    return _Line(crc32(encoded("\n".join([*words, end]))), marks)


def _counts(marks: List[str]) -> Tuple[float, ...]:
    return tuple(float(mark.replace(",", "")) for mark in marks if _COUNT.fullmatch(mark))


def _differ_by_one(counts: Tuple[float, ...], others: Tuple[float, ...]) -> bool:
    return len(counts) == len(others) and sum(abs(a - b) for a, b in zip(counts, others)) == 1


def _were_asked_for(marks: List[str], arguments: Any) -> bool:
    asked = plain_json(arguments)
    return any(mark in asked for mark in marks if not _COUNT.fullmatch(mark))
