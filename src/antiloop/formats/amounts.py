"""Numbers out of recordings, which write them as numbers or as text, or not at all."""

from typing import Any, Optional


def whole_number(value: Any) -> Optional[int]:
    """Read a count, which some exporters write as text."""
    try:
        return None if value is None or isinstance(value, bool) else int(value)
    except (TypeError, ValueError, OverflowError):
        return None


def number(value: Any) -> Optional[float]:
    """Read an amount, which some exporters write as text; what is not finite counts as unknown."""
    try:
        found = None if value is None or isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if found is not None and abs(found) < float("inf") else None
