"""Recordings cut in pieces that are read apart: by other processes, or on other machines."""

import os
from dataclasses import dataclass
from itertools import chain, starmap
from typing import Callable, Iterable, Iterator, List, Optional, Tuple

from ..exceptions import TraceUnreadable
from .reading import read_lines, read_records, read_runs
from .recognition import Recognition
from .recorded_run import RecordedRun
from .records import numbered, record_of
from .registry import FORMATS
from .source import open_lines

SMALL_FILE = 1 << 18
"""Bytes of a file that is not worth cutting."""
PIECE = 1 << 19
"""Characters of a piece, if its last line ends there."""


@dataclass(frozen=True)
class Piece:
    """A file, or some lines of one."""

    path: str
    """The file, or ``-``."""
    source: Optional[str] = None
    """Its format, as in ``FORMATS``; None to recognise it."""
    lines: Optional[Tuple[str, ...]] = None
    """What stands there; None where whoever reads the piece opens the file."""
    first: int = 1
    """The number of its first line."""
    is_cut: bool = False
    """Whether each line is a record of its own, and other pieces hold the other lines."""
    size: int = 0
    """About how much there is to read."""
    error: Optional[TraceUnreadable] = None
    """Why there is nothing to read here."""


def pieces_of(path: str, source: Optional[str] = None) -> Iterator[Piece]:
    """Cut a file, or standard input for ``-``, where that changes nothing of what is read.

    It is cut between lines if each of them holds whole runs. Formats in which a run spreads over
    many lines, and documents, are one piece.
    """
    size = 0 if path == "-" else _size(path)
    if path != "-" and size < SMALL_FILE:
        yield Piece(path, source, size=size)
        return
    try:
        with open_lines(path) as (_, lines):
            head, known = _head(lines, source)
            if known is not None:
                yield from _cut(path, known, chain(head, lines))
            elif path == "-":
                yield from _cut(path, source, chain(head, lines), is_cut=False)
            else:
                yield Piece(path, source, size=size)
    except TraceUnreadable as error:
        yield Piece(path, source, error=error)


def read_piece(piece: Piece, on_trouble: Callable[[str], None]) -> Iterator[RecordedRun]:
    """Yield the runs of a piece; those of all pieces of a file are those of `read_runs`.

    Raises:
        TraceUnreadable: as `read_runs`.
    """
    if piece.error is not None:
        raise piece.error
    if piece.lines is None:
        yield from read_runs(piece.path, source=piece.source, on_trouble=on_trouble)
        return
    name = "stdin" if piece.path == "-" else piece.path
    if piece.is_cut:
        found = starmap(record_of, numbered(piece.lines, piece.first))
        yield from read_records(found, name, FORMATS[str(piece.source)], on_trouble)
    else:
        yield from read_lines(piece.lines, name, piece.source, on_trouble)


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:  # whoever opens it will say why
        return 0


def _head(lines: Iterable[str], source: Optional[str]) -> Tuple[List[str], Optional[str]]:
    """Take the lines up to the first record; name its format if it may be cut after each."""
    head: List[str] = []
    recognition = Recognition(source)
    for line in lines:
        head.append(line)
        record = next(starmap(record_of, numbered([line])), None)
        if record is None:
            continue
        known = recognition.look(record)
        if known is not None:
            return head, known.name if known.follow is None else None
        if record.broken or recognition.is_enough:
            break
    return head, None


def _cut(
    path: str, source: Optional[str], lines: Iterable[str], *, is_cut: bool = True
) -> Iterator[Piece]:
    """Yield the lines in pieces, or in one, and at the end why not all of them could be read."""
    held: List[str] = []
    size, first = 0, 1
    error = None
    try:
        for line in lines:
            held.append(line)
            size += len(line)
            if is_cut and size >= PIECE:
                yield Piece(path, source, tuple(held), first, is_cut, size)
                held, size, first = [], 0, first + len(held)
    except TraceUnreadable as trouble:
        error = trouble
    if held:
        yield Piece(path, source, tuple(held), first, is_cut, size)
    if error is not None:
        yield Piece(path, source, first=first + len(held), error=error)
