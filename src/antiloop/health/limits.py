"""Numbers that users choose, and what they may be."""

from math import inf
from typing import Any


def require_number(
    owner: Any, name: str, least: float, most: float = inf, *, whole: bool = False
) -> None:
    """Require a field to be a number within limits, these among it.

    Raises:
        ValueError: if it is not.
    """
    value = getattr(owner, name)
    if isinstance(value, int if whole else (int, float)) and least <= value <= most:
        return
    wanted = f"{least:g} or more" if most == inf else f"from {least:g} to {most:g}"
    kind = "a whole number, " if whole else ""
    raise ValueError(f"{name} must be {kind}{wanted}, got {value!r}")
