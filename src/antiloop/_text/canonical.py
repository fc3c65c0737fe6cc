"""Equality of values: canonical JSON of any Python value.

The rules, in the order in which they are tried:

* JSON values are themselves. Keys are sorted at every depth, arrays keep their order, ``1`` equals
  ``1.0`` and ``-0.0`` equals ``0``, ``True`` is not ``1``. NaN equals NaN.
* A tuple is an array, a set is an array without order, bytes are their hexadecimal digits, each
  kind marked as such where JSON has no word for it.
* Keys that are not text are written as JSON would write them: ``{1: x}`` equals ``{"1": x}``.
* An enum member is its value. Dataclasses, pydantic models and other mappings are mappings. A view
  of a mapping is an array. A path is its class and its text.
* Other numbers are compared as ``int`` or ``float``; any other object is its class and the
  state that it would be pickled with, or what it has by ``keys()``, as a database row.
  Objects that show no state equal all others of their class.
* A value inside itself is marked by how far up it stands; what lies deeper than `MAX_DEPTH`
  or beyond `MAX_ITEMS` is not looked at.

No rule reads an address, asks ``repr``, ``==`` or ``hash`` of a foreign object, or raises: an
object whose own code raises counts as one without state. Equal values have equal texts in
every process and on every machine.
"""

import dataclasses
import json
import math
import numbers
import os
from enum import Enum
from itertools import islice
from typing import (
    Any,
    Callable,
    Dict,
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    List,
    Mapping,
    Tuple,
    ValuesView,
)

MAX_DEPTH = 64
"""A value is compared to this depth."""
MAX_PARSED_DEPTH = 500
"""JSON text that is deeper stays a text: how deep a parser goes differs by interpreter."""
MAX_ITEMS = 100_000
"""At most this many parts of a value are compared, where it is not plain JSON: some never end."""

_PLAIN_DEPTH = 8
_CONTAINERS = frozenset((dict, list))
_LARGE = 1 << 64


def _encoder() -> Callable[[Any], str]:
    """Make the encoder once: `json.dumps` makes one each time, at the cost of the encoding."""
    public = json.JSONEncoder(separators=(",", ":"), sort_keys=True, check_circular=False)
    made = getattr(json.encoder, "c_make_encoder", None)
    if made is None:  # pragma: no cover - an interpreter without the C accelerator
        return public.encode
    encode = made(
        None, public.default, json.encoder.encode_basestring_ascii, None, ":", ",", 1, 0, 1
    )
    return lambda value: "".join(encode(value, 0))


plain_json = _encoder()
"""Writes what `plain` gave."""


def canonical_json(value: Any) -> str:
    r"""Write any value as ASCII JSON text that is equal for equal values.

    >>> canonical_json({"b": 1.0, "a": {True, None}})
    '{"a":{"\\u0000set":[null,true]},"b":1}'
    """
    return plain_json(plain(value))


def readable_json(value: Any) -> str:
    """Write any value as `canonical_json` does, with the text itself where that writes escapes.

    For people and models to read; what is compared stays canonical.

    >>> readable_json({"q": "größe"})
    '{"q":"größe"}'
    """
    return json.dumps(plain(value), ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def plain(value: Any) -> Any:
    r"""Return any value as plain JSON values, by the rules above; a plain one comes back as it is.

    >>> plain((1.0, {2}))
    [1, {'\x00set': [2]}]
    """
    return value if _is_plain(value, _PLAIN_DEPTH) else _Simplifier().simplify(value)


def json_or(text: Any, instead: Any = None) -> Any:
    """Return what a JSON text says; something else for any other text, and for what is none.

    >>> json_or("[1]"), json_or("a", "b"), json_or(None)
    ([1], 'b', None)
    """
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return instead


def copied(value: Any) -> Any:
    """Copy a result of `plain`, so that others cannot change it."""
    if type(value) is list:
        return list(map(copied, value))
    if type(value) is not dict:
        return value
    if _CONTAINERS.isdisjoint(map(type, value.values())):
        return value.copy()
    return {key: copied(item) for key, item in value.items()}


def canonical_arguments(arguments: Any) -> str:
    """Write arguments as canonical JSON; JSON text is parsed, nothing at all is ``{}``.

    >>> canonical_arguments('{"q": "cats"}') == canonical_arguments({"q": "cats"})
    True
    >>> canonical_arguments(None) == canonical_arguments("") == canonical_arguments({})
    True
    """
    return canonical_json(parsed_arguments(arguments))


def parsed_arguments(arguments: Any) -> Any:
    """Return arguments as plain JSON values: JSON text parsed, nothing at all as ``{}``."""
    kind = type(arguments)
    if kind is dict:
        return plain(arguments)
    # Not isinstance: a foreign object may answer for its class, and raise.
    if issubclass(kind, str):
        text = str.__str__(arguments)
        try:
            arguments = json.loads(text) if text.strip() else None
        except (ValueError, RecursionError):
            return text
        if text.count("[") + text.count("{") > MAX_PARSED_DEPTH and _is_too_deep(arguments):
            return text
    return {} if arguments is None else plain(arguments)


def _is_too_deep(parsed: Any) -> bool:
    """Whether a JSON value has more than `MAX_PARSED_DEPTH` levels, without recursion."""
    level = [parsed] if type(parsed) in _CONTAINERS else []
    for _ in range(MAX_PARSED_DEPTH):
        held = (each.values() if type(each) is dict else each for each in level)
        level = [item for items in held for item in items if type(item) in _CONTAINERS]
        if not level:
            return False
    return True


def text_of(value: Any) -> str:
    """Return a text as it is, and anything else as canonical JSON."""
    if type(value) is str:
        return value
    return str.__str__(value) if issubclass(type(value), str) else canonical_json(value)


def _is_plain(value: Any, depth: int) -> bool:
    """Whether the C encoder already writes this value canonically."""
    kind = type(value)
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str:
                return False
            if type(item) is not str and not (depth and _is_plain(item, depth - 1)):
                return False
        return True
    if kind is str or kind is bool or value is None:
        return True
    if kind is int:
        return bool(-_LARGE < value < _LARGE)
    if kind is float:
        return math.isfinite(value) and not value.is_integer()
    return kind is list and depth > 0 and all(_is_plain(item, depth - 1) for item in value)


class _Simplifier:
    """Turns any value into plain JSON values."""

    def __init__(self) -> None:
        self._left = MAX_ITEMS

    def simplify(self, value: Any, above: Tuple[int, ...] = ()) -> Any:
        """Simplify one value; `above` holds the ids of what contains it."""
        self._left -= 1
        if value is None or value is True or value is False:
            return value
        if id(value) in above:
            return _marked("circular", len(above) - above.index(id(value)))
        if len(above) >= MAX_DEPTH or self._left < 0:
            return _marked("more", None)
        try:
            return self._by_rule(value, (*above, id(value)))
        except Exception:  # noqa: BLE001 - foreign code ran: whatever it raised, it has a class
            return _marked(_class_name(value), None)

    def _by_rule(self, value: Any, above: Tuple[int, ...]) -> Any:
        if isinstance(value, Enum):
            return self.simplify(value.value, above)
        if isinstance(value, str):
            return str.__str__(value)
        if isinstance(value, (bytes, bytearray, memoryview)):
            return _marked("bytes", bytes(value).hex())
        if isinstance(value, numbers.Number):
            return _number(value)
        if isinstance(value, Mapping):
            return self._mapping(value.items(), above)
        if isinstance(value, (list, tuple, KeysView, ValuesView, ItemsView)):
            return [self.simplify(item, above) for item in self._some(value)]
        if isinstance(value, (set, frozenset)):
            items = (self.simplify(item, above) for item in self._some(value))
            return _marked("set", sorted(items, key=plain_json))
        return self._object(value, above)

    def _mapping(self, items: Iterable[Tuple[Any, Any]], above: Tuple[int, ...]) -> Any:
        items = self._some(items)
        pairs = [(self._key(key, above), self.simplify(item, above)) for key, item in items]
        plain: Dict[str, Any] = dict(pairs)
        if len(plain) == len(pairs):
            return plain
        return _marked("pairs", sorted(pairs, key=plain_json))

    def _some(self, items: Iterable[Any]) -> Iterator[Any]:
        """Return the items that there is room for, and one more to mark a cut: some never end."""
        return islice(items, max(self._left, 0) + 1)

    def _key(self, key: Any, above: Tuple[int, ...]) -> str:
        simple = self.simplify(key, above)
        return simple if isinstance(simple, str) else plain_json(simple)

    def _object(self, value: Any, above: Tuple[int, ...]) -> Any:
        if isinstance(value, type) or hasattr(value, "__qualname__"):
            return _marked(_class_name(value), f"{value.__module__}.{value.__qualname__}")
        if dataclasses.is_dataclass(value):
            names = [field.name for field in dataclasses.fields(value)]
            return self._mapping(((name, getattr(value, name)) for name in names), above)
        if isinstance(value, os.PathLike):
            # What it was put together from makes no difference; from 3.13 on, its state tells.
            return _marked(_class_name(value), self.simplify(os.fspath(value), above))
        if callable(getattr(value, "model_dump", None)):
            return self.simplify(value.model_dump(), above)
        return _marked(_class_name(value), self._state(value, above))

    def _state(self, value: Any, above: Tuple[int, ...]) -> Any:
        try:
            reduced = value.__reduce_ex__(2)
        except Exception:
            # A database row is a mapping in all but name. A client of one has no length, and
            # would ask the database.
            if not hasattr(type(value), "__len__"):
                raise
            names = value.keys()
            return self._mapping(((name, value[name]) for name in names), above)
        parts: List[Any] = list(reduced[1:3])
        parts += [list(self._some(contained)) for contained in reduced[3:5] if contained]
        return [self.simplify(part, above) for part in parts]


def _number(value: Any) -> Any:
    if isinstance(value, numbers.Integral):
        whole = int(value)
        # Python refuses to write very long integers in decimal.
        return whole if whole.bit_length() < 4096 else _marked("int", hex(whole))
    if isinstance(value, numbers.Complex) and not isinstance(value, numbers.Real):
        return _marked("complex", [_number(value.real), _number(value.imag)])
    real = float(value)
    if not math.isfinite(real):
        return _marked("float", str(real))
    return int(real) if real.is_integer() else real


def _class_name(value: Any) -> str:
    # Asked of `type` itself: a class may answer for its own attributes, and raise.
    return str(type.__dict__["__qualname__"].__get__(type(value)))


def _marked(kind: str, value: Any) -> Dict[str, Any]:
    # No tool has an argument that starts with NUL, so a mark equals nothing but itself.
    return {f"\x00{kind}": value}
