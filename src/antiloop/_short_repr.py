"""Say in one short line what an object is: for a prompt, a log, a failed assertion.

The values of a run are long, and some are secret; a ``repr`` names what an object is and counts
what it holds.
"""

from dataclasses import MISSING, fields
from enum import Enum
from typing import Any, Iterator, Mapping

_PART, _WHOLE = 60, 200  # characters
_KEYS = 20
_ATOMS = (str, int, float, bool)
_LISTS = (list, tuple, set, frozenset)


def short_repr(thing: Any, *parts: str) -> str:
    """Return the name of an object's class with some parts, cut where it would be long.

    >>> short_repr([], "a", "b")
    'list(a, b)'
    """
    name, listed = type(thing).__name__, ", ".join(parts)
    room = _WHOLE - len(f"{name}()")
    if len(listed) > room:
        listed = f"{listed[: room - 3]}..."
    return f"{name}({listed})"


def quoted(text: str) -> str:
    r"""Quote a text, control characters escaped, and cut it where it is long.

    >>> print(quoted("a\n" + "b" * 100))
    'a\nbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb...'
    """
    text = str(text)
    return repr(text if len(text) <= _PART else f"{text[: _PART - 3]}...")


def shown(value: Any) -> str:
    """Return the ``repr`` of a value, a long text cut.

    >>> shown(3)
    '3'
    """
    return quoted(value) if isinstance(value, str) else repr(value)


def said_by(error: BaseException) -> str:
    """Return the text of an exception; "" if it has none, or raises when it is asked for it.

    >>> said_by(ValueError("no such city")), said_by(KeyError())
    ('no such city', '')
    """
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - foreign code ran: what it cannot say is not said
        return ""


def error_text(error: BaseException) -> str:
    """Return the class of an exception and its text.

    >>> error_text(ValueError("no such city")), error_text(KeyError())
    ('ValueError: no such city', 'KeyError')
    """
    return f"{type(error).__name__}: {said_by(error)}".rstrip(": ")


def counted(number: int, noun: str) -> str:
    """Return a number and its noun, singular or plural.

    >>> counted(1, "call"), counted(2, "call")
    ('1 call', '2 calls')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def repr_of_fields(thing: Any) -> str:
    """Show the fields of a dataclass that differ from their defaults: its ``__repr__``.

    A text is cut, a list is counted, and of a mapping only the keys are shown.
    """
    return short_repr(thing, *_fields_of(thing))


class Shown:
    """The base of a dataclass that is made with ``repr=False``: it has `repr_of_fields`."""

    __repr__ = repr_of_fields


def _fields_of(thing: Any) -> Iterator[str]:
    for each in fields(thing):
        value = getattr(thing, each.name)
        if each.repr and not _is_default(value, each.default):
            yield f"{each.name}={held(value)}"


def _is_default(value: Any, default: Any) -> bool:
    if value is default:
        return True
    if default is MISSING:  # a field with a factory: what is empty was not set
        return held(value) in ("{}", "<0 items>")
    # An empty tuple is not the same object everywhere.
    is_plain = isinstance(value, _ATOMS) or (isinstance(value, tuple) and not value)
    return is_plain and type(value) is type(default) and bool(value == default)


def held(value: Any) -> str:
    """Show a value that an object holds, in a few words.

    >>> held("a"), held(["a", "b"]), held({"q": "cats", "n": 3}), held(len)
    ("'a'", '<2 items>', '{q, n}', '<builtin_function_or_method>')
    """
    try:
        return _held(value)
    except Exception:  # noqa: BLE001 - foreign code ran, or a number has too many digits
        return f"<{type(value).__name__}>"


def _held(value: Any) -> str:
    if isinstance(value, Enum):
        return quoted(str(value.value))
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, (*_ATOMS, type(None))):
        return quoted(repr(value))[1:-1]
    if isinstance(value, Mapping):
        return "{" + quoted(", ".join(map(str, list(value)[:_KEYS])))[1:-1] + "}"
    if isinstance(value, _LISTS):
        return f"<{counted(len(value), 'item')}>"
    return f"<{type(value).__name__}>"
