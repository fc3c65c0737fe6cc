"""Numbers and flags that must mean something."""

from typing import Any


def check_threshold(name: str, value: int, least: int = 2) -> None:
    """Refuse a threshold that could not mean anything.

    Raises:
        ValueError: with the name and the number.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name} must be {least} or more, got {value!r}")


def check_flag(name: str, value: Any) -> None:
    """Refuse a flag that is neither True nor False: the text "no" would mean yes.

    Raises:
        TypeError: with the name and the value.
    """
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {value!r}")
