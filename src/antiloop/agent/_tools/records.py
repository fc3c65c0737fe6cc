"""Classes with named fields: dataclasses, TypedDicts, NamedTuples, and pydantic's models."""

import dataclasses
import json
import sys
import typing
from functools import lru_cache
from typing import Any, Dict, Optional, Set, Tuple

from .marks import qualifier


def is_record(annotation: Any) -> bool:
    """Whether this is a class with named fields: a dataclass, a TypedDict or a NamedTuple."""
    if not isinstance(annotation, type):
        return False
    is_ours = _is_typed_dict(annotation) or _is_named_tuple(annotation)
    return is_ours or (dataclasses.is_dataclass(annotation) and not is_pydantic(annotation))


def is_model(annotation: Any) -> bool:
    """Whether this is a class that an answer can be an instance of."""
    return is_record(annotation) or (isinstance(annotation, type) and is_pydantic(annotation))


def _is_named_tuple(annotation: Any) -> bool:
    return issubclass(annotation, tuple) and hasattr(annotation, "_fields")


def _is_typed_dict(annotation: Any) -> bool:
    return issubclass(annotation, dict) and hasattr(annotation, "__total__")


def fields_of(record: Any) -> Dict[str, Any]:
    """Return the annotations of the fields that a record is made of, by name."""
    hints = resolved_hints(record, record.__qualname__)
    if _is_typed_dict(record) or _is_named_tuple(record):
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


def required_fields(record: Any) -> Set[str]:
    """Return the names of the fields without a default."""
    if _is_typed_dict(record):
        # Annotations that are texts are not looked into when the class is made.
        marks = {name: qualifier(hint) for name, hint in fields_of(record).items()}
        marked = {name for name, mark in marks.items() if mark == "Required"}
        free = {name for name, mark in marks.items() if mark == "NotRequired"}
        return set(record.__required_keys__) - free | marked
    if _is_named_tuple(record):
        return set(record._fields) - set(record._field_defaults)
    return {
        field.name
        for field in dataclasses.fields(record)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    }


def is_pydantic(annotation: Any) -> bool:
    """Whether pydantic describes this class; then the class has imported it."""
    return hasattr(annotation, "__get_pydantic_core_schema__") and "pydantic" in sys.modules


@lru_cache(maxsize=256)
def _adapter(annotation: Any) -> Any:
    return sys.modules["pydantic"].TypeAdapter(annotation)


def pydantic_schema(model: Any) -> Dict[str, Any]:
    """Return the JSON schema of a pydantic model."""
    schema: Dict[str, Any] = _inlined(_adapter(model).json_schema())
    return schema


def build_pydantic(model: Any, value: Any) -> Any:
    """Build a pydantic model of plain JSON data."""
    # Through JSON: a strict model takes a date as text only there.
    return _adapter(model).validate_json(json.dumps(value))


def _inlined(schema: Any, definitions: Any = None, inside: Tuple[str, ...] = ()) -> Any:
    """Return a schema with its references replaced: inside another one they would lead nowhere.

    A definition inside itself is left open.
    """
    if isinstance(schema, list):
        return [_inlined(each, definitions, inside) for each in schema]
    if not isinstance(schema, dict):
        return schema
    definitions = schema.get("$defs", definitions)
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    rest = {key: value for key, value in schema.items() if key not in ("$defs", "$ref")}
    inlined = {key: _inlined(value, definitions, inside) for key, value in rest.items()}
    if not name:
        return inlined
    target = {} if name in inside else (definitions or {}).get(name, {})
    return {**_inlined(target, definitions, (*inside, name)), **inlined}
