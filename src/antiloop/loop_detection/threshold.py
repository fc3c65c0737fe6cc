"""Numbers that must mean something."""


def check_threshold(name: str, value: int, least: int = 2) -> None:
    """Refuse a threshold that could not mean anything.

    Raises:
        ValueError: with the name and the number.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name} must be {least} or more, got {value!r}")
