"""The JSON values of a stream: one a line, or documents that spread over many lines."""

import json
from dataclasses import dataclass
from itertools import accumulate, starmap
from typing import Any, Callable, Iterable, Iterator, List, Optional, Tuple

OnTrouble = Callable[[int, str], None]
"""Called with a line number and what is wrong there; the rest is read all the same."""

_NOT_JSON = (ValueError, RecursionError)
_SPACE = " \t\r\n"


@dataclass(frozen=True)
class Record:
    """One JSON value, or the reason why there is none."""

    line: int
    """Where it starts, counted from 1."""
    value: Any = None
    """The value; None where it is broken."""
    broken: str = ""
    """Why it could not be read."""
    item: Optional[int] = None
    """Which item of a list that stands there, counted from 0; None for the value itself."""

    def place(self, name: str) -> str:
        """Say where it was read."""
        place = f"{name}:{self.line}"
        return place if self.item is None else f"{place}[{self.item}]"


def records(lines: Iterable[str]) -> Iterator[Record]:
    """Yield the JSON values of a stream, broken ones marked.

    Where each line is a value of its own, only one line is held in memory. A document that is
    spread over many lines is recognised by its first line, and is read whole.
    """
    stripped = ((number, line.rstrip(_SPACE)) for number, line in enumerate(lines, 1))
    numbered = ((number, line) for number, line in stripped if line)
    first = next(numbered, None)
    if first is None:
        return
    if _goes_on(first[1]):
        yield from _documents([first, *numbered])
    else:
        yield record_of(*first)
        yield from starmap(record_of, numbered)


def record_of(number: int, line: str) -> Record:
    """Read the value that stands on a line."""
    try:
        return Record(number, json.loads(line))
    except _NOT_JSON as error:
        return Record(number, broken=_reason(error))


def _goes_on(line: str) -> bool:
    """Whether a line stops before its value does, other than within a string."""
    try:
        json.loads(line)
    except json.JSONDecodeError as error:
        return error.pos >= len(line) and not error.msg.startswith("Unterminated")
    except _NOT_JSON:
        pass
    return False


def _documents(held: List[Tuple[int, str]]) -> Iterator[Record]:
    text = "\n".join(line for _, line in held)
    decode = json.JSONDecoder().raw_decode
    position, found = 0, 0
    while position < len(text):
        try:
            value, end = decode(text, position)
        except _NOT_JSON as error:
            if not found:  # no document after all, just a first line that is cut off
                yield from starmap(record_of, held)
                return
            yield Record(_line_at(held, position), broken=_reason(error))
            return
        yield Record(_line_at(held, position), value)
        found += 1
        position = len(text) - len(text[end:].lstrip(_SPACE))


def _line_at(held: List[Tuple[int, str]], position: int) -> int:
    ends = accumulate(len(line) + 1 for _, line in held)
    return next(number for (number, _), end in zip(held, ends) if position < end)


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg.removesuffix(' at')} at column {error.colno}"
    if isinstance(error, RecursionError):
        return "not readable: nested too deeply"
    return f"not readable: {error}"
