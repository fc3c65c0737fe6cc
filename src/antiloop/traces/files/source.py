"""Opening a file or standard input as lines of text, whatever it is packed in."""

import codecs
import gzip
import io
import sys
import zlib
from contextlib import contextmanager
from functools import partial
from typing import Iterator, Tuple, cast

from ...exceptions import NoTrace, TraceUnreadable
from ...regular_file import NotRegular, opener
from .line_splitter import LineSplitter

Line = Tuple[int, str]
"""Its number, and its text without the blanks at its end."""
MAX_LENGTH = 1 << 26
"""Bytes of the longest line that is kept, its end included."""
NOT_KEPT = "\ud800"
"""Marks a line that is not kept, followed by the reason. No line that is read begins so."""
PADDING = "\0"
"""What a system that went down, or a file cut off under its writer, leaves before a line."""
_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"
_CHUNK = 1 << 16
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@contextmanager
def open_lines(path: str, max_length: int = MAX_LENGTH) -> Iterator[Tuple[str, Iterator[Line]]]:
    """Open a file, or standard input for ``-``; return its name and its lines that are not blank.

    Gzip, byte order marks and logs of Inspect AI are recognized by the first bytes; each sample of
    such a log is a line. Undecodable bytes are kept as lone surrogates, so that what differs in the
    file still differs. A line of more than ``max_length`` bytes is given as `NOT_KEPT` and the
    reason, so memory is bounded by that length also where no line ever ends.

    A path to anything but a file, such as a named pipe, is refused, since it may never get data.
    What this process has open already, such as ``<(...)`` of a shell, is read.

    Raises:
        TraceUnreadable: if it cannot be opened or unpacked, or is not text; also while reading.
    """
    name = "stdin" if path == "-" else path
    if path == "-":
        if sys.stdin is None:
            raise TraceUnreadable("stdin: not open")
        stdin = cast(io.BufferedReader, sys.stdin.buffer)  # ours to read only
        yield name, _lines(stdin, name, max_length)
        return
    try:
        raw = io.BufferedReader(io.FileIO(path, opener=opener), _CHUNK)
    except NotRegular as error:
        raise TraceUnreadable(f"{name}: {error.strerror}; send it to standard input, -") from error
    except OSError as error:
        raise TraceUnreadable(f"{name}: {error.strerror or error}") from error
    with raw:
        yield name, _lines(cast(io.BufferedReader, raw), name, max_length)


def _lines(stream: io.BufferedReader, name: str, max_length: int) -> Iterator[Line]:
    if stream.peek(len(_ZIP))[: len(_ZIP)] == _ZIP:
        from .eval_archive import members  # `zipfile` takes long to import

        for number, data, why_not in members(stream, name, max_length):
            if why_not or data:
                yield number, NOT_KEPT + why_not if why_not else decoded(data)
        return
    splitter = LineSplitter(max_length)
    too_long = not_kept(max_length)
    try:
        if stream.peek(2)[:2] == _GZIP:
            stream = cast(io.BufferedReader, gzip.GzipFile(fileobj=stream))
        for chunk in _chunks(stream, _encoding(stream, name)):
            for number, line in splitter.take(chunk):
                yield number, too_long if line is None else decoded(line)
    except (OSError, EOFError, zlib.error) as error:
        raise TraceUnreadable(f"{name}:{splitter.number + 1}: reading failed: {error}") from error
    yield from ((number, decoded(line)) for number, line in splitter.end() if line)


def decoded(line: bytes) -> str:
    """Return a line as text; bytes that are not UTF-8 still make different texts."""
    return line.decode("utf-8", "surrogateescape")


def _chunks(stream: io.BufferedReader, encoding: str) -> Iterator[bytes]:
    """Yield what a stream holds, as UTF-8, as soon as it comes."""
    chunks = iter(partial(stream.read1, _CHUNK), b"")
    if encoding == "utf-8":
        yield from chunks
        return
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for chunk in chunks:
        yield decoder.decode(chunk).encode()
    yield decoder.decode(b"", True).encode()


def _encoding(stream: io.BufferedReader, name: str) -> str:
    """Return UTF-16 or UTF-8, and skip the byte order mark of the latter."""
    head = stream.peek(4096)[:4096]
    if head.startswith(_UTF16):
        return "utf-16"
    if head.startswith(codecs.BOM_UTF8):
        stream.read(len(codecs.BOM_UTF8))
    elif is_binary(head):
        raise NoTrace(f"{name}:1: no tool calls here; expected JSON, found binary data")
    return "utf-8"


def is_binary(head: bytes) -> bool:
    """Whether a file that begins so is not text; padding before a line or at the end is."""
    text = head.rstrip(b"\0")
    return b"\0" in text and any(b"\0" in line.lstrip(b"\0") for line in text.split(b"\n"))


def not_kept(max_length: int) -> str:
    """Return the mark that replaces a line longer than this."""
    return f"{NOT_KEPT}longer than {max_length:,} bytes"
