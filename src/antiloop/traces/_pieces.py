"""Recordings cut in pieces that are read apart: by other processes, or on other machines."""

import io
import os
import sys
from dataclasses import dataclass
from itertools import chain, starmap
from typing import Callable, Iterable, Iterator, List, Optional, Tuple

from .._regular_file import is_descriptor
from ..exceptions import TraceUnreadable
from ..loop_detection import ClientProfile
from ._files.source import Line, open_lines
from ._own_clients import OwnClients
from ._reading import Recognition, read_lines, read_records, read_runs
from ._recorded_run import RecordedRun
from ._registry import FORMATS
from ._shared.records import Held, numbered, record_of

SMALL_FILE = 1 << 18
"""Bytes of a file that is not worth cutting."""
PIECE = 1 << 19
"""Characters of a piece, if its last line ends there."""
WHOLE = sys.maxsize
"""Characters of a piece that holds all there is."""


@dataclass(frozen=True)
class Piece:
    """A file, or some lines of one."""

    path: str
    """The file, or ``-``."""
    source: Optional[str] = None
    """Its format, as in ``FORMATS``; None to recognize it."""
    text: Optional[str] = None
    """The lines; None if the reader of the piece opens the file."""
    first: int = 1
    """The number of its first line."""
    is_first: bool = True
    """Whether no other piece of the file comes before."""
    is_cut: bool = False
    """Whether each line is a separate record, and other pieces hold the other lines."""
    size: int = 0
    """About how much there is to read."""
    error: Optional[TraceUnreadable] = None
    """The reason why nothing can be read here."""


def pieces_of(path: str, source: Optional[str] = None) -> Iterator[Piece]:
    """Cut a file, or standard input for ``-``, where that changes nothing of what is read.

    It is cut between lines if each of them holds whole runs. Formats in which a run spreads over
    many lines, and documents, are one piece.
    """
    is_ours = path == "-" or is_descriptor(path)  # and no other process can open it
    size = 0 if is_ours else _size(path)
    if not is_ours and size < SMALL_FILE:
        yield Piece(path, source, size=size)
        return
    try:
        with open_lines(path) as (_, lines):
            head, cuttable = _head(lines, source)
            if cuttable is not None:
                yield from _cut(path, cuttable, chain(head, lines), PIECE)
            elif is_ours:
                yield from _cut(path, source, chain(head, lines), WHOLE)
            else:
                yield Piece(path, source, size=size)
    except TraceUnreadable as error:
        yield Piece(path, source, error=error)


def read_piece(
    piece: Piece, on_trouble: Callable[[str], None], profiles: Iterable[ClientProfile] = ()
) -> Iterator[RecordedRun]:
    """Yield the runs of a piece; those of all pieces of a file are those of `read_runs`."""
    if piece.error is not None:
        raise piece.error
    if piece.text is None:
        yield from read_runs(
            piece.path, source=piece.source, on_trouble=on_trouble, profiles=profiles
        )
        return
    name = "stdin" if piece.path == "-" else piece.path
    clients = OwnClients(profiles)
    lines = numbered(io.StringIO(piece.text, newline="\n"), piece.first)
    if piece.is_cut:
        found = starmap(record_of, lines)
        yield from read_records(found, name, FORMATS[str(piece.source)], on_trouble, clients)
    else:
        yield from read_lines(lines, name, piece.source, on_trouble, clients)


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:  # opening it later reports why
        return 0


def _head(lines: Iterable[Line], source: Optional[str]) -> Tuple[List[Line], Optional[str]]:
    """Take the lines until the format is clear; name it if it may be cut after each of them."""
    head: List[Line] = []
    recognition = Recognition(source)
    for line in lines:
        head.append(line)
        record = record_of(*line)
        named = recognition.look(record)
        if named is not None:
            return head, named.name if named.follow is None else None
        if record.broken or recognition.is_enough:
            break
    return head, None


def _cut(path: str, source: Optional[str], lines: Iterable[Line], size: int) -> Iterator[Piece]:
    """Yield the lines in pieces, or in one, and at the end why not all of them could be read."""
    is_first, is_cut = True, size != WHOLE
    try:
        for held in _filled(lines, size):
            text, length = held.text(), held.length
            yield Piece(path, source, text, held.first, is_first, is_cut=is_cut, size=length)
            is_first = False
    except TraceUnreadable as error:
        yield Piece(path, source, is_first=is_first, error=error)
        return
    if is_first:  # its reader reports that the file is empty
        yield Piece(path, source, "")


def _filled(lines: Iterable[Line], size: int) -> Iterator[Held]:
    """Join lines up to a size; the blank lines between them count."""
    held = Held()
    try:
        for number, line in lines:
            if held.length and held.length + number - held.last >= size:
                yield held
                held = Held()
            held.add(number, line)
    except TraceUnreadable:
        if held.length:
            yield held
        raise
    if held.length:
        yield held
