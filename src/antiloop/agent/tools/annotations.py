"""Type annotations as JSON schema, and JSON values as what the annotation says.

Both directions stand side by side, so that a tool always gets what its schema promised.
"""

import collections.abc
import dataclasses
import types
import typing
from enum import Enum
from typing import Any, Callable, Dict, List, Literal, Mapping, Optional, Set, Tuple, Union

from ...json_schema import schema_errors
from ...trace import to_plain

_UNIONS = (Union, getattr(types, "UnionType", Union))  # `X | Y` is new in Python 3.10
_SCALARS = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
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
    """Return the JSON schema of an annotation; ``{}`` for what JSON schema cannot say.

    Args:
        annotation: resolved, no string.
        seen: the classes that this one stands inside; a class inside itself is left open.

    >>> annotation_schema(Optional[List[int]])
    {'anyOf': [{'type': 'array', 'items': {'type': 'integer'}}, {'type': 'null'}]}
    """
    annotation, description = _bare(annotation)
    schema = _schema_of(annotation, seen)
    return {**schema, "description": description} if description else schema


def _schema_of(annotation: Any, seen: Tuple[Any, ...]) -> Dict[str, Any]:
    origin, arguments = _parts(annotation)
    if annotation in _SCALARS:
        return {"type": _SCALARS[annotation]}
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
    if _is_enum(annotation):
        return _enum_schema(list(_enum_members(annotation)))
    if is_record(annotation):
        return {"type": "object"} if annotation in seen else _record_schema(annotation, seen)
    return {}


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
    hints = _hints(record)
    required = _required(record)
    return {
        "type": "object",
        "properties": {name: annotation_schema(hint, inside) for name, hint in hints.items()},
        "required": [name for name in hints if name in required],
        "additionalProperties": False,
    }


def build_value(annotation: Any, value: Any) -> Any:
    """Turn plain JSON data that fits the annotation's schema into what the annotation says.

    Enums, dataclasses, tuples and sets are built at any depth; the rest stays as it is.

    >>> build_value(Tuple[int, ...], [1, 2])
    (1, 2)
    """
    annotation, _ = _bare(annotation)
    origin, arguments = _parts(annotation)
    if origin in _UNIONS:
        return _build_choice(arguments, value)
    if annotation in (int, float) and type(value) in (int, float):
        return annotation(value)
    if origin is tuple:
        return _build_tuple(arguments, value)
    if origin in _ARRAYS:
        return _ARRAYS[origin](build_value(_first(arguments), item) for item in value)
    if origin in _OBJECTS:
        item = arguments[1] if len(arguments) == 2 else Any
        return {key: build_value(item, entry) for key, entry in value.items()}
    if _is_enum(annotation):
        return _enum_members(annotation)[value]
    if is_record(annotation):
        return _build_record(annotation, value)
    return value


def _build_choice(choices: Tuple[Any, ...], value: Any) -> Any:
    # A value is taken as the first choice whose schema it fits, as the check took it.
    for choice in choices:
        if not schema_errors(value, annotation_schema(choice), ""):
            return build_value(choice, value)
    return value


def _build_tuple(arguments: Tuple[Any, ...], value: Any) -> Tuple[Any, ...]:
    if not arguments or arguments[-1] is Ellipsis:
        return tuple(build_value(_first(arguments), item) for item in value)
    return tuple(build_value(kind, item) for kind, item in zip(arguments, value))


def _build_record(record: Any, value: Mapping[str, Any]) -> Any:
    hints = _hints(record)
    return record(**{name: build_value(hints[name], item) for name, item in value.items()})


def is_record(annotation: Any) -> bool:
    """Whether this is a class with named fields: a dataclass or a TypedDict."""
    return isinstance(annotation, type) and (
        dataclasses.is_dataclass(annotation) or _is_typed_dict(annotation)
    )


def _is_typed_dict(annotation: Any) -> bool:
    return issubclass(annotation, dict) and hasattr(annotation, "__total__")


def _is_enum(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Enum)


def _enum_members(annotation: Any) -> Dict[Any, Any]:
    """Return members by what the model writes: the value, or the name of one without a scalar."""
    if all(type(member.value) in _JSON_TYPES for member in annotation):
        return {member.value: member for member in annotation}
    return {member.name: member for member in annotation}


def _hints(record: Any) -> Dict[str, Any]:
    hints = resolved_hints(record, record.__qualname__)
    if _is_typed_dict(record):
        return hints
    return {field.name: hints[field.name] for field in dataclasses.fields(record) if field.init}


def resolved_hints(thing: Any, name: str, scope: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
    """Resolve annotations that are strings.

    Raises:
        TypeError: if one cannot be resolved; the message calls the thing by ``name``.
    """
    try:
        return typing.get_type_hints(thing, scope, include_extras=True)
    except Exception as error:
        raise TypeError(f"cannot read the annotations of {name}: {error}") from error


def _required(record: Any) -> Set[str]:
    if _is_typed_dict(record):
        return set(record.__required_keys__)
    return {
        field.name
        for field in dataclasses.fields(record)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    }


def _bare(annotation: Any) -> Tuple[Any, Optional[str]]:
    """Take off ``Annotated`` and ``NewType``; the first text of ``Annotated`` describes."""
    description = None
    while True:
        if hasattr(annotation, "__metadata__"):
            texts = [note for note in annotation.__metadata__ if isinstance(note, str)]
            description = description or (texts[0] if texts else None)
            annotation = annotation.__origin__
        elif hasattr(annotation, "__supertype__"):
            annotation = annotation.__supertype__
        else:
            return annotation, description


def _parts(annotation: Any) -> Tuple[Any, Tuple[Any, ...]]:
    """Return the bare container and what it holds: ``List[int]`` begins with list."""
    origin = typing.get_origin(annotation)
    return (origin or annotation), typing.get_args(annotation)


def _first(arguments: Tuple[Any, ...]) -> Any:
    return arguments[0] if arguments else Any
