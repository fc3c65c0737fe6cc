"""Numbers, flags and names that must mean something."""

import math
from enum import Enum
from typing import Any, Collection, Tuple, Type, TypeVar, Union

T = TypeVar("T", bound=Enum)


def check_threshold(name: str, value: Any, least: int = 2) -> None:
    """Refuse a threshold that could not mean anything."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name} must be a whole number, {least} or more, got {value!r}")


def is_number(value: Any) -> bool:
    """Whether a value is a number; for Python, True and False are, too."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def check_share(name: str, value: Any) -> None:
    """Refuse a share that is not from 0 to 1."""
    if not is_number(value):
        raise TypeError(f"{name} must be a number, got {value!r}")
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must be between 0 and 1, got {value!r}")


def check_seconds(name: str, value: Any, *, or_zero: bool = False, or_none: bool = False) -> None:
    """Refuse a time that could not pass."""
    is_time = is_number(value) and 0 <= value < math.inf and (or_zero or value > 0)
    if not (is_time or (or_none and value is None)):
        least = "0 or more" if or_zero else "above 0"
        more = ", or None" if or_none else ""
        raise ValueError(f"{name} must be a finite number {least}{more}, got {value!r}")


def check_flag(name: str, value: Any) -> None:
    """Refuse a flag that is neither True nor False: the text "no" would mean yes."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {value!r}")


def check_text(name: str, value: Any) -> None:
    """Refuse a name that is not a text, or that no one could read."""
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
    """
    if not isinstance(value, kind):
        got = f"the class {value.__name__}" if isinstance(value, type) else repr(value)
        raise TypeError(f"{sentence}, got {got}; {remedy}")


def check_choice(what: str, value: Any, choices: Collection[str], instead: str = "") -> None:
    """Refuse a name that is not among these."""
    remedy = f"choose from {', '.join(choices)}{instead}"
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a text, got {value!r}; {remedy}")
    if value not in choices:
        raise ValueError(f"unknown {what} {value!r}; {remedy}")


def checked_observers(observers: Any, events: Collection[str]) -> Tuple[Any, ...]:
    """Return the observers in a list.

    Args:
        observers: what was given.
        events: the names of methods; an observer has any of them.

    Raises:
        TypeError: for one observer where several are meant, for a class, and for anything else.
    """
    if isinstance(observers, (str, type)) or not hasattr(observers, "__iter__"):
        raise TypeError(f"observers must be a list of observers, got {observers!r}")
    listed = tuple(observers)
    for at, each in enumerate(listed):
        if isinstance(each, type):
            raise TypeError(f"observers[{at}] is a class; pass an instance: {each.__name__}()")
        if not any(hasattr(each, name) for name in events):
            raise TypeError(f"observers[{at}] must be an AgentObserver, got {each!r}; subclass it")
    return listed


def tool_names(option: str, given: Any) -> Tuple[str, ...]:
    """Return the names of tools in a list."""
    wanted = f"{option} takes a list of tool names"
    if isinstance(given, str):
        raise TypeError(f"{wanted}, not a text: [{given!r}]")
    if not hasattr(given, "__iter__"):
        raise TypeError(f"{wanted}, got {given!r}")
    names = tuple(given)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{wanted}, got {name!r} in it")
    return names


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
