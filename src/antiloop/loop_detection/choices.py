"""A member of an enum, by the name that a person writes."""

from enum import Enum
from typing import Any, Collection, Type, TypeVar

T = TypeVar("T", bound=Enum)


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
