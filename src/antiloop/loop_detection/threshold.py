"""Numbers, flags and names that must mean something."""

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


def check_text(name: str, value: Any) -> None:
    """Refuse a name that is not a text, or that no one could read.

    Raises:
        TypeError: with the name of the option and the value, if it is not a text.
        ValueError: if it is blank.
    """
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a text, got {value!r}")
    if not value.strip():
        raise ValueError(f"{name} must not be blank, got {value!r}")
