"""Type annotations as JSON schema, and JSON values as what the annotation says.

Both directions stand side by side, so that a tool always gets what its schema promised.
"""

import base64
import collections.abc
import types
import typing
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from pathlib import Path, PurePath
from typing import Any, Callable, Dict, List, Literal, Mapping, Optional, Tuple, Union
from uuid import UUID

from ..._json_schema import schema_errors
from ..._text.canonical import json_or
from ..._trace import to_plain
from .marks import aliased_by, bare, is_alias, named, noted
from .records import (
    build_pydantic,
    fields_of,
    is_pydantic,
    is_record,
    pydantic_schema,
    required_fields,
)

_UNIONS = (Union, getattr(types, "UnionType", Union))  # `X | Y` is new in Python 3.10
_SCALARS = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
_OPEN = (Any, object, None)
"""Annotations that say nothing, so any value fits."""


def _moment(text: str) -> datetime:
    # Before Python 3.11 fromisoformat does not know the Z that models write.
    return datetime.fromisoformat(f"{text[:-1]}+00:00" if text.endswith(("Z", "z")) else text)


def _number(value: Any) -> Decimal:
    return Decimal(str(value))


def _octets(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _written(form: str) -> Dict[str, Any]:
    return {"type": "string", "format": form}


_TEXTS: Dict[Any, Tuple[Dict[str, Any], Callable[[Any], Any], str]] = {
    datetime: (_written("date-time"), _moment, "a date and time such as 2026-01-31T12:00:00"),
    date: (_written("date"), date.fromisoformat, "a date such as 2026-01-31"),
    time: (_written("time"), time.fromisoformat, "a time such as 12:00:00"),
    UUID: (_written("uuid"), UUID, "a UUID"),
    # Both: models write a number, and a text is what keeps every digit.
    Decimal: ({"type": ["number", "string"]}, _number, "a decimal number"),
    bytes: ({"type": "string", "contentEncoding": "base64"}, _octets, "base64"),
    Path: (_written("path"), Path, "a path"),
    PurePath: (_written("path"), PurePath, "a path"),
}
"""Classes that JSON writes as text: their schema, how they are read, and what they look like."""
_JSON_TYPES = (str, int, float, bool, type(None))
_ARRAYS: Dict[Any, Callable[[Any], Any]] = {
    list: list,
    set: set,
    frozenset: frozenset,
    collections.abc.Sequence: list,
    collections.abc.MutableSequence: list,
    collections.abc.Iterable: list,
    collections.abc.Collection: list,
    collections.abc.Set: set,
}
_OBJECTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)


def annotation_schema(annotation: Any, seen: Tuple[Any, ...] = ()) -> Dict[str, Any]:
    """Return the JSON schema of an annotation; ``{}`` for one that says nothing.

    Args:
        annotation: resolved, no string.
        seen: the classes and aliases that this one stands inside; one inside itself is left open.

    Raises:
        TypeError: for what no JSON value can be turned into.

    >>> annotation_schema(Optional[List[int]])
    {'anyOf': [{'type': 'array', 'items': {'type': 'integer'}}, {'type': 'null'}]}
    """
    annotation, notes = bare(annotation)
    return noted(_schema_of(annotation, seen), notes)


def _schema_of(annotation: Any, seen: Tuple[Any, ...]) -> Dict[str, Any]:
    if is_alias(annotation):
        inside = (*seen, annotation)
        return {} if annotation in seen else annotation_schema(aliased_by(annotation), inside)
    origin, arguments = _parts(annotation)
    if annotation in _SCALARS:
        return {"type": _SCALARS[annotation]}
    if annotation in _TEXTS:
        return dict(_TEXTS[annotation][0])
    if origin in _UNIONS:
        return {"anyOf": [annotation_schema(choice, seen) for choice in arguments]}
    if origin is Literal:
        return _enum_schema(list(arguments))
    if origin is tuple:
        return _tuple_schema(arguments, seen)
    if origin in _ARRAYS:
        return {"type": "array", **_item_schema("items", arguments[:1], seen)}
    if origin in _OBJECTS:
        return {"type": "object", **_item_schema("additionalProperties", arguments[1:2], seen)}
    return _class_schema(annotation, seen)


def _class_schema(annotation: Any, seen: Tuple[Any, ...]) -> Dict[str, Any]:
    if _is_enum(annotation):
        return _enum_schema(list(_enum_members(annotation)))
    if is_record(annotation):
        return {"type": "object"} if annotation in seen else _record_schema(annotation, seen)
    if is_pydantic(annotation):
        return pydantic_schema(annotation)
    if annotation in _OPEN or isinstance(annotation, typing.TypeVar):
        return {}
    raise TypeError(
        f"{getattr(annotation, '__qualname__', annotation)!s} cannot be made from JSON; use a"
        " dataclass, a pydantic model or plain types, or bind it with functools.partial"
    )


def _enum_schema(choices: List[Any]) -> Dict[str, Any]:
    choices = [to_plain(choice) for choice in choices]
    types = {_SCALARS.get(type(choice)) for choice in choices}
    return {"type": types.pop(), "enum": choices} if len(types) == 1 else {"enum": choices}


def _item_schema(keyword: str, arguments: Tuple[Any, ...], seen: Tuple[Any, ...]) -> Dict[str, Any]:
    items = annotation_schema(arguments[0], seen) if arguments else {}
    return {keyword: items} if items else {}


def _tuple_schema(arguments: Tuple[Any, ...], seen: Tuple[Any, ...]) -> Dict[str, Any]:
    if not arguments or arguments[-1] is Ellipsis:
        return {"type": "array", **_item_schema("items", arguments[:1], seen)}
    size = len(arguments)
    items = [annotation_schema(item, seen) for item in arguments]
    return {"type": "array", "prefixItems": items, "minItems": size, "maxItems": size}


def _record_schema(record: Any, seen: Tuple[Any, ...]) -> Dict[str, Any]:
    inside = (*seen, record)
    hints = fields_of(record)
    required = required_fields(record)
    return {
        "type": "object",
        "properties": {name: annotation_schema(hint, inside) for name, hint in hints.items()},
        "required": [name for name in hints if name in required],
        "additionalProperties": False,
    }


def build_value(annotation: Any, value: Any) -> Any:
    """Turn plain JSON data that fits the annotation's schema into what the annotation says.

    Enums, dataclasses, dates, tuples and sets are built at any depth; the rest stays as it is.

    Raises:
        ValueError: for a text that is not what the annotation says, or that a class refuses.

    >>> build_value(Tuple[int, ...], [1, 2])
    (1, 2)
    """
    annotation = named(annotation)
    origin, arguments = _parts(annotation)
    if origin in _UNIONS:
        return _build_choice(arguments, value)
    if annotation in _TEXTS:
        return _read_text(annotation, value)
    if annotation in (int, float) and type(value) in (int, float):
        return annotation(value)
    if origin is tuple:
        return _build_tuple(arguments, value)
    if origin in _ARRAYS:
        return _ARRAYS[origin](build_value(_first(arguments), item) for item in value)
    if origin in _OBJECTS:
        kind, item = arguments if len(arguments) == 2 else (Any, Any)
        return {_build_key(kind, key): build_value(item, entry) for key, entry in value.items()}
    if _is_enum(annotation):
        return _enum_members(annotation)[value]
    if is_record(annotation):
        return _build_record(annotation, value)
    if is_pydantic(annotation):
        return build_pydantic(annotation, value)
    members = arguments if origin is Literal else ()
    return next((each for each in members if _is_member(each, value)), value)


def _read_text(annotation: Any, value: Any) -> Any:
    _, read, form = _TEXTS[annotation]
    try:
        return read(value)
    except (ValueError, ArithmeticError):
        raise ValueError(f"expected {form}, got {value!r}") from None


def _build_key(annotation: Any, text: str) -> Any:
    """Return the key of an object as what the annotation says: in JSON it is always a text."""
    schema = annotation_schema(annotation)
    if not schema_errors(text, schema, ""):
        return build_value(annotation, text)
    value = json_or(text, text)
    problems = schema_errors(value, schema, f"key {text!r}")
    if problems:
        raise ValueError(problems[0])
    return build_value(annotation, value)


def _build_choice(choices: Tuple[Any, ...], value: Any) -> Any:
    # A value is taken as the first choice whose schema it fits, as the check took it, and which
    # can be built of it: a date and a name are both text.
    refused: Optional[Exception] = None
    for choice in choices:
        if not schema_errors(value, annotation_schema(choice), ""):
            try:
                return build_value(choice, value)
            except ValueError as error:
                refused = refused or error
    if refused is not None:
        raise refused
    return value


def _build_tuple(arguments: Tuple[Any, ...], value: Any) -> Tuple[Any, ...]:
    if not arguments or arguments[-1] is Ellipsis:
        return tuple(build_value(_first(arguments), item) for item in value)
    return tuple(build_value(kind, item) for kind, item in zip(arguments, value))


def _build_record(record: Any, value: Mapping[str, Any]) -> Any:
    hints = fields_of(record)
    return record(**{name: build_value(hints[name], item) for name, item in value.items()})


def _is_enum(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Enum)


def _is_member(choice: Any, value: Any) -> bool:
    return isinstance(choice, Enum) and bool(to_plain(choice) == value)


def _enum_members(annotation: Any) -> Dict[Any, Any]:
    """Return members by what the model writes: the value, or the name of one without a scalar."""
    if all(type(member.value) in _JSON_TYPES for member in annotation):
        return {member.value: member for member in annotation}
    return {member.name: member for member in annotation}


def _parts(annotation: Any) -> Tuple[Any, Tuple[Any, ...]]:
    """Return the bare container and what it holds: ``List[int]`` begins with list."""
    origin = typing.get_origin(annotation)
    return (origin or annotation), typing.get_args(annotation)


def _first(arguments: Tuple[Any, ...]) -> Any:
    return arguments[0] if arguments else Any
