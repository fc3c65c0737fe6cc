"""The parts around a type in an annotation: ``Annotated``, ``NewType``, aliases, marks."""

import typing
from typing import Any, Dict, Iterator, Mapping, Tuple

_LIMITS: Mapping[str, Mapping[str, str]] = {
    "number": {
        "ge": "minimum",
        "gt": "exclusiveMinimum",
        "le": "maximum",
        "lt": "exclusiveMaximum",
    },
    "string": {"min_length": "minLength", "max_length": "maxLength", "pattern": "pattern"},
    "array": {"min_length": "minItems", "max_length": "maxItems"},
}
"""The keywords of a schema, by its type and by what annotated-types, pydantic and msgspec say."""


def bare(annotation: Any) -> Tuple[Any, Tuple[Any, ...]]:
    """Take off ``Annotated``, ``NewType`` and ``NotRequired``; return what they noted, too."""
    notes: Tuple[Any, ...] = ()
    while True:
        if hasattr(annotation, "__metadata__"):
            notes += annotation.__metadata__
            annotation = annotation.__origin__
        elif hasattr(annotation, "__supertype__"):
            annotation = annotation.__supertype__
        elif qualifier(annotation):
            (annotation,) = typing.get_args(annotation)
        else:
            return annotation, notes


def named(annotation: Any) -> Any:
    """Return the type inside all marks and aliases."""
    inner, _ = bare(annotation)
    return named(aliased_by(inner)) if is_alias(inner) else inner


def qualifier(annotation: Any) -> str:
    """Return what a field of a TypedDict is marked as, e.g. ``"NotRequired"``; "" for nothing."""
    # By name: before Python 3.11 the marks come from typing_extensions.
    name = getattr(typing.get_origin(annotation), "_name", None)
    return name if name in ("Required", "NotRequired", "ReadOnly") else ""


def is_alias(annotation: Any) -> bool:
    """Whether this is a name for another type, as ``type Ids = list[int]`` makes one."""
    # By name: before Python 3.12 they come from typing_extensions.
    return type(typing.get_origin(annotation) or annotation).__name__ == "TypeAliasType"


def aliased_by(alias: Any) -> Any:
    """Return the type that an alias is a name for, its parameters filled in."""
    origin = typing.get_origin(alias) or alias
    given = dict(zip(origin.__type_params__, typing.get_args(alias)))
    aliased = origin.__value__
    open_ = getattr(aliased, "__parameters__", ())
    if aliased in given:
        return given[aliased]
    return aliased[tuple(given.get(each, Any) for each in open_)] if open_ else aliased


def noted(schema: Dict[str, Any], notes: Tuple[Any, ...]) -> Dict[str, Any]:
    """Return a schema with what notes say: limits, and as the description the first text."""
    texts = [text for text in map(_text_of, notes) if text]
    limited = _limited(schema, [each for note in notes for each in _parts_of(note)])
    return {**limited, "description": texts[0]} if texts else limited


def _text_of(note: Any) -> str:
    """Return what a part of ``Annotated`` says: a text, pydantic's Field, a Doc; "" for others."""
    said = (note, getattr(note, "description", None), getattr(note, "documentation", None))
    return next((each for each in said if isinstance(each, str)), "")


def _parts_of(note: Any) -> Iterator[Any]:
    """Yield a note, and those that pydantic's Field keeps inside."""
    yield note
    inside = getattr(note, "metadata", None)
    yield from inside if isinstance(inside, list) else ()


def _limited(schema: Dict[str, Any], notes: "list[Any]") -> Dict[str, Any]:
    """Return a schema with the limits of its notes; of a choice, each with its own."""
    if "anyOf" in schema:
        return {**schema, "anyOf": [_limited(each, notes) for each in schema["anyOf"]]}
    if "format" in schema or "contentEncoding" in schema:
        return schema  # a limit is one of the value, and not of the text that JSON has for it
    kind = "number" if schema.get("type") == "integer" else schema.get("type")
    known = _LIMITS.get(kind, {}) if isinstance(kind, str) else {}
    limits = {
        known[name]: value for note in notes for name in known for value in _limit_in(note, name)
    }
    return {**schema, **limits}


def _limit_in(note: Any, name: str) -> Iterator[Any]:
    value = getattr(note, name, None)
    value = getattr(value, "pattern", value)  # of a compiled one
    wanted = str if name == "pattern" else (int, float)
    if isinstance(value, wanted) and not isinstance(value, bool):
        yield value
