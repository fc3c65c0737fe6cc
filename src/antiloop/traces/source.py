"""Opening a file or standard input as lines of text, whatever it is packed in."""

import codecs
import gzip
import io
import sys
import zlib
from contextlib import contextmanager
from functools import partial
from typing import AnyStr, Callable, Iterator, Optional, Tuple, cast

from ..exceptions import NoTrace, TraceUnreadable

MAX_LENGTH = 1 << 26
"""Bytes of the longest line that is kept, its end included."""
NOT_KEPT = "\ud800"
"""What stands in the place of a line that is not kept; why not follows. No line read begins so."""
PADDING = "\0"
"""What a system that went down, or a file cut off under its writer, leaves before a line."""
_GZIP = b"\x1f\x8b"
_CHUNK = 1 << 16
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@contextmanager
def open_lines(path: str, max_length: int = MAX_LENGTH) -> Iterator[Tuple[str, Iterator[str]]]:
    """Open a file, or standard input for ``-``; give its name and its lines.

    Gzip and byte order marks are recognised by the first bytes. Bytes that are no text are kept
    as lone surrogates, so that what differs in the file still differs. A line of more than
    ``max_length`` bytes is given as `NOT_KEPT` and the reason, so memory is bounded by that length
    also where no line ever ends.

    Raises:
        TraceUnreadable: if it cannot be opened or unpacked, or is no text; also while reading.
    """
    name = "stdin" if path == "-" else path
    if path == "-":
        if sys.stdin is None:
            raise TraceUnreadable("stdin: not open")
        stdin = cast(io.BufferedReader, sys.stdin.buffer)  # ours to read only
        yield name, _lines(stdin, name, max_length)
        return
    try:
        raw = io.BufferedReader(io.FileIO(path), _CHUNK)
    except OSError as error:
        raise TraceUnreadable(f"{name}: {error.strerror or error}") from error
    with raw:
        yield name, _lines(cast(io.BufferedReader, raw), name, max_length)


def _lines(stream: io.BufferedReader, name: str, max_length: int) -> Iterator[str]:
    number = 0
    try:
        if stream.peek(2)[:2] == _GZIP:
            packed = cast(io.RawIOBase, gzip.GzipFile(fileobj=stream))
            stream = io.BufferedReader(packed, _CHUNK)
        for line in _decoded(stream, _encoding(stream, name), max_length):
            number += 1
            yield line
    except (OSError, EOFError, zlib.error) as error:
        raise TraceUnreadable(f"{name}:{number + 1}: cannot read on: {error}") from error


def _encoding(stream: io.BufferedReader, name: str) -> str:
    """Tell UTF-16 from UTF-8, and pass over the mark of the latter."""
    head = stream.peek(4096)[:4096]
    if head.startswith(_UTF16):
        return "utf-16"
    if head.startswith(codecs.BOM_UTF8):
        stream.read(len(codecs.BOM_UTF8))
    elif is_binary(head):
        raise NoTrace(f"{name}:1: no tool calls here; expected JSON, found binary data")
    return "utf-8"


def is_binary(head: bytes) -> bool:
    """Whether a file that begins so holds no text; padding at its very start is none of it."""
    return b"\0" in head.lstrip(b"\0")


def _decoded(stream: io.BufferedReader, encoding: str, max_length: int) -> Iterator[str]:
    too_long = not_kept(max_length)
    if encoding == "utf-8":
        for line in _kept(stream.readline, b"\n", max_length):
            yield too_long if line is None else line.decode("utf-8", "surrogateescape")
        return
    text = io.TextIOWrapper(stream, encoding, errors="replace", newline="\n")
    for words in _kept(text.readline, "\n", max_length // 2):
        yield too_long if words is None else words
    text.detach()  # or the stream would be closed with it


def not_kept(max_length: int) -> str:
    """Give what stands in the place of a line that is longer than this."""
    return f"{NOT_KEPT}longer than {max_length:,} bytes"


def _kept(
    read_line: Callable[[int], AnyStr], end: AnyStr, max_length: int
) -> Iterator[Optional[AnyStr]]:
    """Yield lines, and None for each that is too long, as soon as that is known."""
    for line in iter(partial(read_line, max_length), end[:0]):
        if len(line) < max_length or line.endswith(end):
            yield line
            continue
        del line  # it is long, and what follows may never end
        yield None
        rest = read_line(_CHUNK)
        while rest and not rest.endswith(end):
            rest = read_line(_CHUNK)
