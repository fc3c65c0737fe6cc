"""``.eval`` logs of Inspect AI: a zip file that holds a JSON document for each sample."""

import io
import re
import struct
import zipfile
import zlib
from importlib import import_module
from typing import Any, Dict, Iterator, Tuple
from zipfile import BadZipFile, ZipFile, ZipInfo

from ...exceptions import NoTrace, TraceUnreadable

_SAMPLE = re.compile(r"samples/.+\.json", re.DOTALL)
_HEADS = ("header.json", "_journal/start.json")
"""The members about the log as a whole: of a finished one, and of one that is being written."""
_END, _END_64 = b"PK\x05\x06", b"PK\x06\x06"
_MAX_DIRECTORY = 1 << 23
"""Bytes of the list of members; in memory it takes about ten times as much."""
MAX_VALUES = 1_000_000
"""Objects and lists of a member at most: in memory, one of two bytes takes fifty times as many."""
_ZSTANDARD = 93
"""The packing of newer versions of Inspect; `zipfile` knows it from Python 3.14 on."""
_BROKEN = (BadZipFile, EOFError, OSError, RuntimeError, ValueError, struct.error, zlib.error)
"""The errors of a zip file that is cut off, changed, encrypted, or packed in an unknown way."""

_ONE_LINE = bytes.maketrans(b"\r\n", b"  ")
"""No string of JSON holds the end of a line."""

Member = Tuple[int, bytes, str]
"""Its number, what it holds as one line, and why that is not known."""


def members(stream: io.BufferedReader, name: str, max_length: int) -> Iterator[Member]:
    """Yield the head and the samples of a log, numbered from 1.

    Raises:
        TraceUnreadable: if it is not a complete zip file, or uses an unknown compression.
    """
    if not stream.seekable():
        raise TraceUnreadable(f"{name}: a zip file cannot be read from a pipe; give its path")
    if _directory_length(stream) > _MAX_DIRECTORY:
        raise TraceUnreadable(f"{name}: a zip file with too many members")
    try:
        with ZipFile(stream) as archive:
            wanted = _wanted(archive)
            if not wanted:
                raise NoTrace(f"{name}: no tool calls here; a zip file, not a log of Inspect AI")
            for number, info in enumerate(wanted.values(), 1):
                yield (number, *_content(archive, stream, info, name, max_length))
    except _BROKEN as error:
        raise TraceUnreadable(f"{name}: reading failed: {error}") from error


def _directory_length(stream: io.BufferedReader) -> int:
    """Return the declared length of the list of members; 0 if there is none."""
    size = stream.seek(0, io.SEEK_END)
    stream.seek(-min(size, 1 << 17), io.SEEK_END)
    tail = stream.read()
    for signature, layout, at in ((_END_64, "<Q", 40), (_END, "<L", 12)):
        found = tail.rfind(signature)
        if 0 <= found <= len(tail) - at - struct.calcsize(layout):
            return int(struct.unpack_from(layout, tail, found + at)[0])
    return 0


def _wanted(archive: ZipFile) -> Dict[str, ZipInfo]:
    """Return the members to read; of several with one name the last counts, as everywhere."""
    found = {info.filename: info for info in archive.infolist()}
    samples = {name: info for name, info in found.items() if _SAMPLE.fullmatch(name)}
    head = next((name for name in _HEADS if samples and name in found), None)
    return samples if head is None else {head: found[head], **samples}


def _content(
    archive: ZipFile, stream: io.BufferedReader, info: ZipInfo, name: str, max_length: int
) -> Tuple[bytes, str]:
    """Return what a member holds, or why that is not known."""
    try:
        data = _unpacked(archive, stream, info, name, max_length + 1)
    except _BROKEN as error:
        return b"", f"{info.filename!r} cannot be unpacked: {error}"
    if len(data) > max_length:
        return b"", f"longer than {max_length:,} bytes"
    # Brackets within strings count too: to tell them apart means to read the whole text.
    if data.count(b"{") + data.count(b"[") > MAX_VALUES:
        return b"", f"more than {MAX_VALUES:,} objects and lists"
    return data.translate(_ONE_LINE).strip(), ""


def _unpacked(
    archive: ZipFile, stream: io.BufferedReader, info: ZipInfo, name: str, length: int
) -> bytes:
    """Return the beginning of a member."""
    # Inspect itself teaches it to `zipfile` in its own process.
    is_known = hasattr(zipfile, "ZIP_ZSTANDARD") or info.flag_bits & 0x1
    if info.compress_type == _ZSTANDARD and not is_known:
        return _from_zstandard(stream, info, name, length)
    with archive.open(info) as member:
        return member.read(length)


def _from_zstandard(stream: io.BufferedReader, info: ZipInfo, name: str, length: int) -> bytes:
    try:
        zstandard: Any = import_module("zstandard")
    except ImportError as error:
        raise TraceUnreadable(
            f"{name}: packed with Zstandard, which Python reads from 3.14 on;"
            " before that: pip install zstandard"
        ) from error
    stream.seek(info.header_offset + 26)
    stream.seek(sum(struct.unpack("<HH", stream.read(4))), io.SEEK_CUR)
    packed = io.BytesIO(stream.read(min(info.compress_size, length)))
    try:
        reader = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
        return bytes(reader.read(length))
    except zstandard.ZstdError as error:
        raise BadZipFile(str(error)) from error
