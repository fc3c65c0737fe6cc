"""Spans out of the JSON that OpenTelemetry's exporters write.

Read are OTLP JSON, the JSON form of the OTLP protobuf message (base64 ids, names for numbers, with
either spelling of the field names), and what ``span.to_json()`` and the console exporter print.
"""

import base64
import binascii
from dataclasses import dataclass
from itertools import chain
from typing import Any, Iterator, List, Mapping, Optional, Tuple

from ..._amounts import moment_s, whole_number
from .._content import items_of, mapping_of, optional_text, text_of

_FAILED = ("2", "STATUS_CODE_ERROR", "ERROR")
_SCALARS = ("stringValue", "boolValue", "doubleValue", "bytesValue")
_OLD_SCOPES = "instrumentationLibrarySpans"
_HEX = frozenset("0123456789abcdef")


@dataclass(frozen=True)
class Span:
    """One span, whichever exporter wrote it."""

    trace_id: str
    """In hexadecimal digits, as all ids here."""
    span_id: str
    parent_id: str
    """The span that it is part of; empty for a root."""
    start_ns: int
    """Since 1970; 0 where unknown."""
    end_ns: int
    """Not before the start."""
    attributes: Mapping[str, Any]
    """As plain JSON."""
    events: Tuple[Tuple[str, Mapping[str, Any]], ...] = ()
    """Name and attributes of each, in order."""
    error: Optional[str] = None
    """None if all went well; else the message, which may be empty."""
    name: str = ""
    service: str = ""
    """The program that it comes from, where that has a name."""


def is_span_document(value: Any) -> bool:
    """Whether a JSON value holds spans in one of the shapes read here."""
    if not isinstance(value, dict):
        return False
    return isinstance(_get(value, "resourceSpans"), list) or _is_printed(value)


def spans_of(value: Any) -> Iterator[Span]:
    """Yield the spans of one JSON value, skipping other values."""
    if not isinstance(value, dict):
        return
    if _is_printed(value):
        yield _printed(value)
    for resource in _objects(value, "resourceSpans"):
        service = _service(_plain_map(mapping_of(resource.get("resource")).get("attributes")))
        for scope in chain(_objects(resource, "scopeSpans"), _objects(resource, _OLD_SCOPES)):
            for span in _objects(scope, "spans"):
                yield _exported(span, service)


def _service(resource: Mapping[str, Any]) -> str:
    """Return the name of a program; SDKs make one up where none was set."""
    name = text_of(resource.get("service.name"))
    return "" if name.startswith("unknown_service") else name


def nanoseconds_of(moment: Any) -> int:
    """Return a time of day and year as nanoseconds since 1970; 0 for anything else."""
    return round((moment_s(moment) or 0) * 1e6) * 1000


def _exported(span: Mapping[str, Any], service: str) -> Span:
    start = _nanoseconds(_get(span, "startTimeUnixNano"))
    attributes = _plain_map(span.get("attributes"))
    events = tuple(
        (text_of(event.get("name")), _plain_map(event.get("attributes")))
        for event in _objects(span, "events")
    )
    return Span(
        _hex(_get(span, "traceId")),
        _hex(_get(span, "spanId")),
        _hex(_get(span, "parentSpanId")),
        start,
        max(start, _nanoseconds(_get(span, "endTimeUnixNano"))),
        attributes,
        events,
        _error(span.get("status"), "code", "message", events),
        text_of(span.get("name")),
        service,
    )


def _is_printed(value: Mapping[str, Any]) -> bool:
    context = value.get("context")
    if "span_kind" in value:  # a record of Phoenix
        return False
    return isinstance(context, dict) and "span_id" in context and "attributes" in value


def _printed(span: Mapping[str, Any]) -> Span:
    start = _nanoseconds(span.get("start_time"))
    context = span["context"]
    events = tuple(
        (text_of(event.get("name")), _attributes(event)) for event in _objects(span, "events")
    )
    return Span(
        _hex(context.get("trace_id")),
        _hex(context.get("span_id")),
        _hex(span.get("parent_id")),
        start,
        max(start, _nanoseconds(span.get("end_time"))),
        _attributes(span),
        events,
        _error(span.get("status"), "status_code", "description", events),
        text_of(span.get("name")),
        _service(_attributes(mapping_of(span.get("resource")))),
    )


def _get(holder: Mapping[str, Any], name: str) -> Any:
    """Read a field by its JSON name, or as protobuf streaks it."""
    if name in holder:
        return holder[name]
    return holder.get("".join(f"_{char.lower()}" if char.isupper() else char for char in name))


def _objects(holder: Mapping[str, Any], name: str) -> List[Mapping[str, Any]]:
    return [item for item in items_of(_get(holder, name)) if isinstance(item, dict)]


def _attributes(holder: Mapping[str, Any]) -> Mapping[str, Any]:
    return {text_of(key): value for key, value in mapping_of(holder.get("attributes")).items()}


def _plain_map(pairs: Any) -> Mapping[str, Any]:
    """Return a list of keys and typed values as a mapping of plain ones."""
    pairs = [pair for pair in items_of(pairs) if isinstance(pair, dict)]
    return {text_of(pair.get("key")): _plain(pair.get("value")) for pair in pairs}


def _plain(value: Any) -> Any:
    if not isinstance(value, dict):
        return None
    many, pairs = _get(value, "arrayValue"), _get(value, "kvlistValue")
    if isinstance(many, dict):
        return [_plain(item) for item in _objects(many, "values")]
    if isinstance(pairs, dict):
        return _plain_map(pairs.get("values"))
    if _get(value, "intValue") is not None:
        return whole_number(_get(value, "intValue"))
    return next((_get(value, kind) for kind in _SCALARS if _get(value, kind) is not None), None)


def _error(status: Any, code: str, message: str, events: Any) -> Optional[str]:
    status = mapping_of(status)
    if text_of(status.get(code)) not in _FAILED:
        return None
    messages = [attributes.get("exception.message") for name, attributes in events]
    said = [text_of(what) for what in (*messages, status.get(message)) if what is not None]
    return next(filter(None, said), "")


def _hex(value: Any) -> str:
    """Return an id as hexadecimal digits, also where it is base64; other text stays as it is."""
    text = (optional_text(value) or "").strip()
    digits = text.lower()[2:] if text[:2] in ("0x", "0X") else text.lower()
    if _HEX.issuperset(digits) and len(digits) in (16, 32):
        return digits
    if len(text) in (12, 24):
        try:
            return base64.b64decode(text, validate=True).hex()
        except (binascii.Error, ValueError):
            return text
    return digits


def _nanoseconds(value: Any) -> int:
    """Return a time as nanoseconds since 1970: a number, digits, or ISO 8601."""
    if isinstance(value, str) and ":" in value:
        return nanoseconds_of(value)
    return whole_number(value) or 0
