"""Numbers, flags and names that must mean something."""

from enum import Enum
from typing import Any, Collection, Tuple, Type, TypeVar, Union

T = TypeVar("T", bound=Enum)


def check_threshold(name: str, value: Any, least: int = 2) -> None:
    """Refuse a threshold that could not mean anything.

    Raises:
        ValueError: with the name and the number.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name} must be a whole number, {least} or more, got {value!r}")


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


def check_kind(sentence: str, value: Any, kind: Union[type, Tuple[type, ...]], remedy: str) -> None:
    """Refuse what is not of a class; a class where an instance is meant is named as such.

    Args:
        sentence: where it was given, and what belongs there.
        value: what was given.
        kind: the class, or several.
        remedy: what to pass instead.

    Raises:
        TypeError: for any other value.
    """
    if not isinstance(value, kind):
        got = f"the class {value.__name__}" if isinstance(value, type) else repr(value)
        raise TypeError(f"{sentence}, got {got}; {remedy}")


def choice_of(
    kind: Type[T], value: Any, what: str, instead: str = "", choices: Collection[T] = ()
) -> T:
    """Return the member of an enum with this value, in upper or lower case.

    Args:
        kind: the enum; its values are texts in lower case.
        value: a member, or what a person wrote.
        what: what is chosen, for the message.
        instead: what else may be passed, for the message.
        choices: the members to choose from; all by default.

    Raises:
        ValueError: for any other value; the message lists the choices.

    >>> from antiloop.types import Role
    >>> choice_of(Role, "USER", "role")
    <Role.USER: 'user'>
    """
    is_text = isinstance(value, str) and not isinstance(value, Enum)
    choices = choices or list(kind)
    try:
        chosen = kind(value.lower() if is_text else value)
    except ValueError:
        chosen = None
    if chosen is None or chosen not in choices:
        names = ", ".join(each.value for each in choices)
        raise ValueError(f"unknown {what} {value!r}; choose from {names}{instead}")
    return chosen
