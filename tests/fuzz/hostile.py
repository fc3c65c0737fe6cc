"""Messages as a framework may hand them over: objects instead of JSON, and stranger things."""

import random
from collections import OrderedDict
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from enum import Enum
from types import SimpleNamespace
from typing import Any, Callable, Dict, List, Tuple


class Raising:
    """Raises whatever is done with it."""

    def _refuse(self, *_: Any) -> Any:
        raise RuntimeError("do not touch")

    __getattr__ = __bool__ = __eq__ = __hash__ = __str__ = __repr__ = __len__ = __iter__ = _refuse


class RaisingMapping(Mapping):  # type: ignore[type-arg]
    """A mapping that gives nothing away."""

    def __getitem__(self, *_: Any) -> Any:
        raise RuntimeError("do not touch")

    __iter__ = __len__ = __getitem__  # type: ignore[assignment]


class Role(str, Enum):
    """A text that is no plain one."""

    USER = "user"


def strange(chance: random.Random) -> Any:
    """Make a value that no JSON document holds."""
    return chance.choice(_MAKERS)()


def _circular() -> List[Any]:
    made: List[Any] = [1]
    made.append({"a": made})
    return made


def _deep() -> List[Any]:
    made: List[Any] = []
    for _ in range(5000):
        made = [made]
    return made


_MAKERS: Tuple[Callable[[], Any], ...] = (
    *(Raising, RaisingMapping, object, SimpleNamespace, OrderedDict, _circular, _deep),
    *(lambda: b"\xff", lambda: {1, "a"}, lambda: iter("abc"), lambda: Role.USER, lambda: Raising),
    *(lambda: 10**5000, lambda: float("nan"), lambda: 1j, lambda: Decimal("NaN"), lambda: len),
    *(lambda: {1: 2, (3, 4): None}, lambda: ({}, [()]), datetime.now, lambda: "\ud800"),
)


def as_objects(value: Any, chance: random.Random) -> Any:
    """Turn parts of a JSON value into objects with attributes, tuples, and strange things."""
    if chance.random() < 0.01:
        return strange(chance)
    if isinstance(value, list):
        items = [as_objects(item, chance) for item in value]
        return tuple(items) if chance.random() < 0.2 else items
    if not isinstance(value, dict):
        return value
    fields: Dict[Any, Any] = {key: as_objects(item, chance) for key, item in value.items()}
    if chance.random() < 0.2 and all(isinstance(key, str) for key in fields):
        return SimpleNamespace(**fields)
    return fields
