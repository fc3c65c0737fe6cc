"""What an object is, in one short line: for a prompt, a log, a failed assertion.

The values of a run are long, and some are secret; a ``repr`` names what an object is and counts
what it holds.
"""

from typing import Any

_PART, _WHOLE = 60, 175  # characters


def short_repr(thing: Any, *parts: str) -> str:
    """Return the name of an object's class with some parts, cut where it would be long.

    >>> short_repr([], "a", "b")
    'list(a, b)'
    """
    listed = ", ".join(parts)
    if len(listed) > _WHOLE:
        listed = f"{listed[: _WHOLE - 3]}..."
    return f"{type(thing).__name__}({listed})"


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


def counted(number: int, noun: str) -> str:
    """Return a number and its noun, singular or plural.

    >>> counted(1, "call"), counted(2, "call")
    ('1 call', '2 calls')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
