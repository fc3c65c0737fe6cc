"""JSON in the states and answers of hooks: ASCII, without spaces."""

from json import JSONEncoder, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["UNREADABLE", "dumps", "loads"]

UNREADABLE = (ValueError, RecursionError, SystemError)
"""The errors for a bad text: the last where it was cut, in Python 3.10 and 3.11."""
_COMPACT = (",", ":")


def dumps(value: "Any", *, sort_keys: bool = False) -> str:
    """Return a value as text."""
    return JSONEncoder(separators=_COMPACT, sort_keys=sort_keys).encode(value)
