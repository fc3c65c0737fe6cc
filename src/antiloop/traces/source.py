"""Opening a file or standard input as lines of text, whatever it is packed in."""

import codecs
import gzip
import io
import sys
import zlib
from contextlib import contextmanager
from typing import Iterator, Tuple, cast

from ..exceptions import NoTrace, TraceUnreadable

_GZIP = b"\x1f\x8b"
_CHUNK = 1 << 16
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@contextmanager
def open_lines(path: str) -> Iterator[Tuple[str, Iterator[str]]]:
    """Open a file, or standard input for ``-``; give its name and its lines.

    Gzip and byte order marks are recognised by the first bytes. Bytes that are no text are kept
    as lone surrogates, so that what differs in the file still differs.

    Raises:
        TraceUnreadable: if it cannot be opened or unpacked, or is no text; also while reading.
    """
    name = "stdin" if path == "-" else path
    if path == "-":
        if sys.stdin is None:
            raise TraceUnreadable("stdin: not open")
        yield name, _lines(cast(io.BufferedReader, sys.stdin.buffer), name)  # ours to read only
        return
    try:
        raw = open(path, "rb")  # noqa: SIM115 - the error of opening only
    except OSError as error:
        raise TraceUnreadable(f"{name}: {error.strerror or error}") from error
    with raw:
        yield name, _lines(raw, name)


def _lines(stream: io.BufferedReader, name: str) -> Iterator[str]:
    number = 0
    try:
        if stream.peek(2)[:2] == _GZIP:
            packed = cast(io.RawIOBase, gzip.GzipFile(fileobj=stream))
            stream = io.BufferedReader(packed, _CHUNK)
        text = _text(stream, name)
        for line in text:
            number += 1
            yield line
        text.detach()  # or the stream would be closed with it
    except (OSError, EOFError, zlib.error) as error:
        raise TraceUnreadable(f"{name}:{number + 1}: cannot read on: {error}") from error


def _text(stream: io.BufferedReader, name: str) -> io.TextIOWrapper:
    head = stream.peek(4096)[:4096]
    encoding = "utf-8"
    if head.startswith(_UTF16):
        encoding = "utf-16"
    elif head.startswith(codecs.BOM_UTF8):
        stream.read(len(codecs.BOM_UTF8))
    elif b"\0" in head:
        raise NoTrace(f"{name}:1: no tool calls here; expected JSON, found binary data")
    return io.TextIOWrapper(stream, encoding, errors="surrogateescape", newline="\n")
