"""Numbers and times out of recordings, which write them in many ways, or not at all; their sums."""

import re
from datetime import datetime, timezone
from typing import Any, Callable, Iterable, Optional, TypeVar

_Number = TypeVar("_Number", int, float)
_FRACTION = re.compile(r"\.(\d+)")
_YEAR_5138_S = 1e11  # a larger number counts milliseconds, or parts of them
_MOST = 1e24  # nothing here comes near it, and sums of less stay finite


def whole_number(value: Any) -> Optional[int]:
    """Read a count, which some exporters write as text."""
    return _read(int, value)


def number(value: Any) -> Optional[float]:
    """Read an amount, which some exporters write as text; what has no end counts as unknown."""
    return _read(float, value)


def _read(kind: Callable[[Any], _Number], value: Any) -> Optional[_Number]:
    try:
        found = None if value is None or isinstance(value, bool) else kind(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if found is not None and abs(found) < _MOST else None


def moment_s(value: Any) -> Optional[float]:
    """Read a time as seconds since 1970: ISO 8601 text, UTC unless it says so, a number, an object.

    >>> moment_s("1970-01-01T00:01:00.5Z"), moment_s(1_700_000_000_000)
    (60.5, 1700000000.0)
    """
    if isinstance(value, str) and ":" in value:
        return iso_moment_s(value)
    if isinstance(value, datetime):
        return _since_1970_s(value)
    seconds = number(value)
    while seconds is not None and seconds > _YEAR_5138_S:
        seconds /= 1000
    return seconds


def iso_moment_s(text: str) -> Optional[float]:
    """Read ISO 8601 text as seconds since 1970; None for any other text."""
    # Python before 3.11 reads neither a Z nor fractions of other than 3 or 6 digits.
    text = _FRACTION.sub(lambda match: "." + f"{match[1]:0<6}"[:6], text.strip(), count=1)
    try:
        return _since_1970_s(datetime.fromisoformat(text.replace("Z", "+00:00")))
    except ValueError:
        return None


def _since_1970_s(moment: datetime) -> float:
    return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).timestamp()


def total(amounts: Iterable[Optional[_Number]]) -> Optional[_Number]:
    """Add up what is known; None if nothing is.

    >>> total([1, None, 2]), total([None])
    (3, None)
    """
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if known else None
