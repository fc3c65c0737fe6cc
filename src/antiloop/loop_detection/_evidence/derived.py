"""Features that are derived when they are first asked for."""

from typing import Any, Callable, Generic, Tuple, TypeVar

T = TypeVar("T")


class derived(Generic[T]):  # noqa: N801 - a decorator, as `property` is
    """A feature that a method derives from the others of its object, once, and that stays.

    As `functools.cached_property`, without the lock that it takes before Python 3.12: a step asks
    for a dozen of them.
    """

    def __init__(self, derive: Callable[[Any], T]) -> None:
        self._derive = derive

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, item: Any, owner: type) -> T:
        value = item.__dict__[self._name] = self._derive(item)
        return value


def derived_of(kind: type) -> Tuple[str, ...]:
    """Return the names of the features of a class that are derived."""
    return tuple(name for name, each in vars(kind).items() if isinstance(each, derived))
