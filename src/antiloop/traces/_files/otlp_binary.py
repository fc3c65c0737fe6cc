"""Binary OTLP, which exporters send as ``application/x-protobuf``, kept in a file.

A file is one message, or the messages of the collector's file exporter, each behind its length.
"""

import io
import json
from functools import partial
from typing import Any, Callable, Iterator, Tuple

from ...exceptions import TraceUnreadable

_RESOURCE_SPANS, _TRACE_ID = b"\n", b"\n\x10"
"""The beginning of a message, and that of each of its spans: an id of 16 bytes."""
_LENGTH = 4
"""Bytes of the length before a message, with the highest first."""


def is_otlp(head: bytes) -> bool:
    """Whether a file that begins so is binary OTLP; no text holds what begins a span."""
    begins = head[:1] == _RESOURCE_SPANS or _is_framed(head)
    return begins and _TRACE_ID in head


def documents_in(
    stream: io.BufferedIOBase, name: str, max_length: int
) -> Iterator[Tuple[int, str]]:
    """Yield the messages of a file as OTLP JSON, each with its number.

    Raises:
        TraceUnreadable: if a message is damaged or too long, or the package that reads it is
            missing.
    """
    parse = _parser(name)
    for number, message in enumerate(_messages(stream, name, max_length), 1):
        yield number, parse(number, message)


def _is_framed(head: bytes) -> bool:
    return head[:1] == b"\0" and head[_LENGTH : _LENGTH + 1] == _RESOURCE_SPANS


def _messages(stream: Any, name: str, max_length: int) -> Iterator[bytes]:
    if not _is_framed(stream.peek(_LENGTH + 1)):
        yield _taken(stream, max_length + 1, name, max_length)
        return
    for length in iter(partial(stream.read, _LENGTH), b""):
        size = int.from_bytes(length, "big")
        message = _taken(stream, size, name, max_length)
        if len(message) < size:
            raise TraceUnreadable(f"{name}: the file ends within a message")
        yield message


def _taken(stream: Any, size: int, name: str, max_length: int) -> bytes:
    message: bytes = stream.read(min(size, max_length + 1))
    if len(message) > max_length:
        raise TraceUnreadable(f"{name}: a message is longer than {max_length:,} bytes")
    return message


def _parser(name: str) -> Callable[[int, bytes], str]:
    try:
        from google.protobuf.json_format import MessageToDict
        from google.protobuf.message import DecodeError
        from opentelemetry.proto.trace.v1.trace_pb2 import TracesData
    except ImportError as error:
        raise TraceUnreadable(
            f'{name}: binary OTLP needs opentelemetry-proto: pip install "antiloop[otel]"'
        ) from error

    def parse(number: int, message: bytes) -> str:
        try:
            return json.dumps(MessageToDict(TracesData.FromString(message)))
        except DecodeError as error:
            raise TraceUnreadable(f"{name}: message {number} is damaged: {error}") from error

    return parse
