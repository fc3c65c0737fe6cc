"""The JSON values of a stream: one a line, or documents that spread over many lines."""

import io
import json
import re
from dataclasses import dataclass, field
from itertools import chain, islice, starmap
from typing import Any, Callable, Iterable, Iterator, List, Optional, Tuple

from .._files.source import MAX_LENGTH, NOT_KEPT, PADDING, Line

OnTrouble = Callable[[int, str], None]
"""Called with a line number and what is wrong there, empty where a value is of another format; the
rest is read all the same."""

_NOT_JSON = (ValueError, RecursionError)
_SPACE = " \t\r\n"
_TEXT = re.compile(f"[^{_SPACE}]")
_DECODE = json.JSONDecoder().raw_decode


@dataclass(frozen=True)
class Record:
    """One JSON value, or the reason why there is none."""

    line: int
    """The line where it starts, counted from 1."""
    value: Any = None
    """The value; None where it is broken."""
    broken: str = ""
    """The reason why it could not be read."""
    length: int = field(default=0, compare=False)
    """About how many characters it takes."""
    item: Optional[int] = None
    """The index in a list on that line, counted from 0; None for the value itself."""

    def place(self, name: str) -> str:
        """Return where it was read."""
        place = f"{name}:{self.line}"
        return place if self.item is None else f"{place}[{self.item}]"


def records(lines: Iterable[Line], max_length: int = MAX_LENGTH) -> Iterator[Record]:
    """Yield the JSON values of a stream, broken ones marked.

    If each line is a separate value, only one line is held in memory. Documents that spread
    over many lines are recognized by the first line; then one document is held, and of no more
    than ``max_length`` characters.
    """
    found = iter(lines)
    first = next(found, None)
    if first is None:
        return
    if _goes_on(first[1]):
        yield from _documents(chain([first], found), max_length)
    else:
        yield record_of(*first)
        yield from starmap(record_of, found)


def numbered(lines: Iterable[str], first: int = 1) -> Iterator[Line]:
    """Yield the lines that are not empty, each with its number."""
    stripped = ((number, line.rstrip(_SPACE)) for number, line in enumerate(lines, first))
    return ((number, line) for number, line in stripped if line)


def record_of(number: int, line: str) -> Record:
    """Read the value on a line."""
    try:
        return Record(number, json.loads(line.lstrip(PADDING)), length=len(line))
    except _NOT_JSON as error:
        return Record(number, broken=line[1:] if line[0] == NOT_KEPT else _reason(error))


def _goes_on(line: str) -> bool:
    """Whether a line stops before its value does, other than within a string."""
    try:
        json.loads(line)
    except json.JSONDecodeError as error:
        return error.pos >= len(line) and not error.msg.startswith("Unterminated")
    except _NOT_JSON:
        pass
    return False


def _documents(lines: Iterator[Line], max_length: int) -> Iterator[Record]:
    is_first = True
    for text, number, found in _batches(lines, max_length):
        if is_first and found[0].broken and _are_values(text):
            yield from starmap(record_of, chain(numbered(io.StringIO(text), number), lines))
            return
        yield from found
        is_first = False


def _are_values(text: str) -> bool:
    """Whether only the first line is truncated, and the others are separate values."""
    others = starmap(record_of, islice(numbered(io.StringIO(text)), 1, 3))
    return any(isinstance(record.value, dict) for record in others)


def _batches(lines: Iterator[Line], max_length: int) -> Iterator[Tuple[str, int, List[Record]]]:
    """Yield lines that go together, the number of the first, and the documents that they are."""
    held = Held()
    tried = 0
    for number, line in lines:
        held.add(number, line)
        if held.length > max_length:
            too_long = Record(held.first, broken=f"longer than {max_length:,} characters")
            yield held.text(), held.first, [too_long]
            next((line for _, line in lines if _may_be_last(line)), None)
        elif not _may_be_last(line) or held.length < 2 * tried:
            continue
        else:
            found, goes_on = _decoded(held.text(), held.first)
            if goes_on:
                tried = held.length
                continue
            yield held.text(), held.first, found
        held, tried = Held(), 0
    if held.length:
        yield held.text(), held.first, _decoded(held.text(), held.first)[0]


class Held:
    """Lines that go together, as one text, which takes less than many short ones."""

    def __init__(self) -> None:
        self.first = 0
        self.length = 0
        self.last = 0
        self._text = io.StringIO(newline="\n")

    def add(self, number: int, line: str) -> None:
        """Add the next line; lines that are left out become empty ones again."""
        if not self.length:
            self.first = self.last = number
        self.length += self._text.write("\n" * (number - self.last)) + self._text.write(line)
        self.last = number

    def text(self) -> str:
        """Return the lines, as `numbered` reads them."""
        return self._text.getvalue()


def _may_be_last(line: str) -> bool:
    """Whether a document may end here; most are indented, and end with a bracket that is not."""
    return line[0] in "]}"


def _decoded(text: str, first: int) -> Tuple[List[Record], bool]:
    """Read documents up to the first that is broken, and tell whether more lines may mend that."""
    position, number, counted = 0, first, 0
    found: List[Record] = []
    while position < len(text):
        number, counted = number + text.count("\n", counted, position), position
        try:
            value, end = _DECODE(text, position)
        except _NOT_JSON as error:
            broken_at = getattr(error, "pos", position)
            number += text.count("\n", counted, broken_at)
            return [*found, Record(number, broken=_reason(error))], broken_at >= len(text)
        found.append(Record(number, value, length=end - position))
        more = _TEXT.search(text, end)
        position = more.start() if more else len(text)
    return found, False


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg.removesuffix(' at')} at column {error.colno}"
    if isinstance(error, RecursionError):
        return "not readable: nested too deeply"
    return f"not readable: {error}"
