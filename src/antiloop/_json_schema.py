"""Check a value against the part of JSON schema that tools and structured output use."""

import math
import operator
import re
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Sequence, Tuple

from ._checks import is_number

Schema = Mapping[str, Any]

_SHOWN = 60


def schema_errors(value: Any, schema: Any, path: str) -> List[str]:
    """Return where a value does not fit a schema; empty if it fits.

    Known are ``type``, ``enum``, ``const``, ``minimum``, ``maximum``, ``exclusiveMinimum``,
    ``exclusiveMaximum``, ``minLength``, ``maxLength``, ``pattern``, ``anyOf``, ``oneOf``,
    ``allOf``, ``properties``, ``patternProperties``, ``required``, ``additionalProperties``,
    ``items``, ``prefixItems``, ``minItems``, ``maxItems``, and ``$ref`` to a part of the schema.
    Other keywords, and patterns that Python cannot read, are not looked at. So of ``oneOf`` several
    choices may fit: what tells them apart may be among the others. The error for an unexpected
    name suggests the most similar one.

    Args:
        value: plain JSON data.
        schema: the schema; True allows everything, False nothing.
        path: how messages call the value, e.g. ``"arguments"``.

    >>> schema_errors({"a": [1, "x"]}, {"properties": {"a": {"items": {"type": "integer"}}}}, "out")
    ["out.a[1]: expected an integer, got 'x'"]
    """
    return list(_errors(value, schema, path, schema))


def _errors(value: Any, schema: Any, path: str, root: Any) -> Iterator[str]:
    if schema is False:
        yield f"{path}: unexpected"
    if not isinstance(schema, Mapping):
        return
    if "$ref" in schema:
        schema = _referred(schema, root)
    if "type" in schema and not _has_type(value, schema["type"]):
        yield f"{path}: expected {_type_names(schema['type'])}, got {_show(value)}"
        return
    yield from _fixed_errors(value, schema, path)
    yield from _parts_errors(value, schema, path, root)
    if is_number(value):
        yield from _number_errors(value, schema, path)
    if isinstance(value, str):
        yield from _text_errors(value, schema, path)
    if isinstance(value, Mapping):
        yield from _object_errors(value, schema, path, root)
    if isinstance(value, (list, tuple)):
        yield from _array_errors(value, schema, path, root)


def _fixed_errors(value: Any, schema: Schema, path: str) -> Iterator[str]:
    if "enum" in schema and not any(_same(value, choice) for choice in schema["enum"]):
        choices = ", ".join(repr(choice) for choice in schema["enum"])
        yield f"{path}: expected one of {choices}, got {_show(value)}"
    if "const" in schema and not _same(value, schema["const"]):
        yield f"{path}: expected {schema['const']!r}, got {_show(value)}"


def _parts_errors(value: Any, schema: Schema, path: str, root: Any) -> Iterator[str]:
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            yield from _choice_errors(value, schema[keyword], path, root)
    for part in schema.get("allOf", ()):
        yield from _errors(value, part, path, root)


def _referred(schema: Schema, root: Any) -> Schema:
    """Return a schema with what it refers to; a reference that leads nowhere allows everything."""
    seen: List[Any] = []
    while "$ref" in schema and schema["$ref"] not in seen:
        seen.append(schema["$ref"])
        target: Any = root if str(seen[-1]).startswith("#") else {}
        for name in str(seen[-1]).split("/")[1:]:
            target = target.get(name) if isinstance(target, Mapping) else None
        rest = {name: rule for name, rule in schema.items() if name != "$ref"}
        schema = {**(target if isinstance(target, Mapping) else {}), **rest}
    return schema


def _number_errors(value: Any, schema: Schema, path: str) -> Iterator[str]:
    kind = "a whole number of " if schema.get("type") == "integer" else ""
    for keyword, (words, is_outside) in _BOUNDS.items():
        bound = schema.get(keyword)
        # Draft 4 has true and false for the bounds that are excluded.
        if is_number(bound) and is_outside(value, bound):
            yield f"{path}: expected {kind}{words.format(bound)}, got {_show(value)}"


_BOUNDS: Mapping[str, Tuple[str, Callable[[Any, Any], bool]]] = {
    "minimum": ("{} or more", operator.lt),
    "exclusiveMinimum": ("more than {}", operator.le),
    "maximum": ("{} or less", operator.gt),
    "exclusiveMaximum": ("less than {}", operator.ge),
}


def _text_errors(value: str, schema: Schema, path: str) -> Iterator[str]:
    yield from _size_errors(len(value), schema, "Length", "characters", path)
    if "pattern" in schema and not _is_like(value, schema["pattern"]):
        yield f"{path}: expected a text that matches {schema['pattern']}, got {_show(value)}"


def _is_like(text: Any, pattern: Any) -> bool:
    """Whether a text holds what a pattern says; a pattern that Python cannot read says nothing."""
    try:
        return re.search(pattern, text) is not None
    except (TypeError, re.error, RecursionError, OverflowError):
        return True


def _choice_errors(value: Any, choices: Sequence[Any], path: str, root: Any) -> Iterator[str]:
    """Report the choice that came closest: its first trouble lies deep, and it has few."""
    attempts = [list(_errors(value, choice, path, root)) for choice in choices]
    if not all(attempts):
        return
    if not attempts:
        yield f"{path}: no value is allowed here"
    at_top = [errors for errors in attempts if errors[0].startswith(f"{path}: expected ")]
    deeper = [errors for errors in attempts if errors not in at_top]
    if deeper:
        yield from min(deeper, key=len)
    elif attempts:
        wanted = [errors[0].split(": expected ", 1)[1].rsplit(", got ", 1)[0] for errors in at_top]
        yield f"{path}: expected {' or '.join(wanted)}, got {_show(value)}"


def _object_errors(value: Mapping[str, Any], schema: Schema, path: str, root: Any) -> Iterator[str]:
    properties = schema.get("properties", {})
    allowed = [name for name, rule in properties.items() if rule is not False]
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{path}.{name}: missing"
    patterns = schema.get("patternProperties", {})
    for name, item in value.items():
        rules = [rule for pattern, rule in patterns.items() if _is_like(name, pattern)]
        if name in properties or not rules:
            rules.append(properties.get(name, schema.get("additionalProperties", True)))
        for rule in rules:
            hint = nearest(name, allowed) if rule is False else ""
            yield from (f"{error}{hint}" for error in _errors(item, rule, f"{path}.{name}", root))


def nearest(name: Any, known: Iterable[str], likeness: float = 0.6) -> str:
    """Return a hint to a known name that is similar; empty if there is none.

    >>> nearest("treshold", ["threshold", "window"])
    "; did you mean 'threshold'?"
    """
    from difflib import get_close_matches  # needed where something is wrong, and slow to load

    found = get_close_matches(str(name)[:_SHOWN], list(known), 1, likeness)
    return f"; did you mean {found[0]!r}?" if found else ""


def hint_to(name: Any, known: Iterable[str]) -> str:
    """Return a hint to a known name that is similar, or to all of them."""
    names = list(known)
    return nearest(name, names) or f"; there are {', '.join(names)}"


def _array_errors(value: Sequence[Any], schema: Schema, path: str, root: Any) -> Iterator[str]:
    yield from _size_errors(len(value), schema, "Items", "items", path)
    prefix = schema.get("prefixItems", ())
    for index, item in enumerate(value):
        rule = prefix[index] if index < len(prefix) else schema.get("items", True)
        yield from _errors(item, rule, f"{path}[{index}]", root)


def _size_errors(size: int, schema: Schema, of: str, named: str, path: str) -> Iterator[str]:
    least: Any = schema.get(f"min{of}")
    most: Any = schema.get(f"max{of}")
    least, most = least if is_number(least) else 0, most if is_number(most) else math.inf
    if not least <= size <= most:
        yield f"{path}: expected {_span(least, most)} {named}, got {size}"


def _span(least: float, most: float) -> str:
    if most == math.inf:
        return f"at least {least}"
    if least == most:
        return f"{least}"
    return f"{least} to {most}" if least else f"at most {most}"


def _is_integer(value: Any) -> bool:
    # JSON has one kind of number: 3.0 is an integer.
    return is_number(value) and (isinstance(value, int) or value.is_integer())


def with_whole_numbers(value: Any) -> Any:
    """Return JSON data in which numbers like 3.0 are whole ones, as JSON has one kind of number."""
    if isinstance(value, Mapping):
        return {name: with_whole_numbers(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [with_whole_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


_TYPES: Dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": _is_integer,
    "number": is_number,
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "array": lambda value: isinstance(value, (list, tuple)),
    "object": lambda value: isinstance(value, Mapping),
}


def _has_type(value: Any, names: Any) -> bool:
    known = [_TYPES[name] for name in _as_list(names) if name in _TYPES]
    return not known or any(test(value) for test in known)


def _as_list(names: Any) -> Sequence[str]:
    return [names] if isinstance(names, str) else list(names)


def _type_names(names: Any) -> str:
    articles = {"null": "null", "integer": "an integer", "array": "an array", "object": "an object"}
    return " or ".join(articles.get(name, f"a {name}") for name in _as_list(names))


def _same(value: Any, choice: Any) -> bool:
    if isinstance(value, (list, tuple)) and isinstance(choice, (list, tuple)):
        return len(value) == len(choice) and all(map(_same, value, choice))
    if isinstance(value, Mapping) and isinstance(choice, Mapping):
        return value.keys() == choice.keys() and all(_same(value[k], choice[k]) for k in value)
    # True equals 1 in Python; in JSON it does not.
    return bool(value == choice) and isinstance(value, bool) == isinstance(choice, bool)


def _show(value: Any) -> str:
    text = "null" if value is None else repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
