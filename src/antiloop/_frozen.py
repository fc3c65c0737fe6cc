"""Values that cannot be changed in place, because many readers share a run's record.

They are the lists and dictionaries that they look like, for ``==``, `json` and ``isinstance``. A
copy, or what is unpickled, can be changed again.
"""

import copy
from functools import wraps
from typing import Any, Callable, Dict, List, Mapping, NoReturn, Optional, Tuple

from ._json_schema import hint_to
from ._short_repr import counted

_ATOMS = (str, int, float, bool, type(None))
_ATOMIC = frozenset(_ATOMS)


def frozen(value: Any) -> Any:
    """Return a copy of a value, at every depth, whose lists and dictionaries cannot be changed.

    A value that cannot be copied, such as an open file, stays the same object. A value that holds
    itself is returned as it is, and can be changed.

    >>> frozen({"a": [1]})["a"].append(2)
    Traceback (most recent call last):
    TypeError: this list of 1 item is recorded and cannot be changed; copy.deepcopy() it first
    """
    try:
        return _frozen(value)
    except Exception:  # noqa: BLE001 - foreign code ran, or the value is too deep: it is shared
        return value


def thawed(value: Any) -> Any:
    """Return a copy of a frozen value that can be changed.

    >>> thawed(frozen({"a": [1]}))
    {'a': [1]}
    """
    if isinstance(value, FrozenDict):
        return {key: thawed(item) for key, item in value.items()}
    if isinstance(value, FrozenList):
        return list(map(thawed, value))
    if type(value) is tuple:
        return tuple(map(thawed, value))
    return value if isinstance(value, _ATOMS) else _copied(value)


def _frozen(value: Any) -> Any:
    if type(value) in _ATOMIC or isinstance(value, _UNCHANGING):
        return value
    if isinstance(value, list):
        is_flat = _ATOMIC.issuperset(map(type, value))
        return FrozenList(value if is_flat else map(_frozen, value))
    if isinstance(value, (dict, Mapping)):  # the second takes long to find out
        return FrozenDict((key, _frozen(item)) for key, item in value.items())
    return tuple(map(_frozen, value)) if type(value) is tuple else _copied(value)


def _copied(value: Any) -> Any:
    try:
        return copy.deepcopy(value)
    except Exception:  # noqa: BLE001 - foreign code ran: what it cannot copy is shared
        return value


def _refuse(self: Any, *_: Any, **__: Any) -> NoReturn:
    kind = "dict" if isinstance(self, dict) else "list"
    raise TypeError(
        f"this {kind} of {counted(len(self), 'item')} is recorded and cannot be changed;"
        " copy.deepcopy() it first"
    )


class FrozenDict(Dict[Any, Any]):
    """A dictionary that cannot be changed."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> Tuple[Any, ...]:
        return dict, (thawed(self),)

    def __deepcopy__(self, memo: Any) -> Dict[Any, Any]:
        return thawed(self)  # type: ignore[no-any-return]

    def copy(self) -> Dict[Any, Any]:
        """Return a dictionary that can be changed."""
        return dict(self)


class FrozenList(List[Any]):
    """A list that cannot be changed."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = _refuse
    reverse = sort = _refuse

    def __reduce__(self) -> Tuple[Any, ...]:
        return list, (thawed(self),)

    def __deepcopy__(self, memo: Any) -> List[Any]:
        return thawed(self)  # type: ignore[no-any-return]

    def copy(self) -> List[Any]:
        """Return a list that can be changed."""
        return list(self)


_UNCHANGING = (*_ATOMS, FrozenDict, FrozenList)


_OPEN = "_is_being_made"


class Unchangeable:
    """An object whose attributes are set while it is made, by its class and subclasses, then never.

    A check of options in a constructor would be worth little if they could be set later.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "__init__" in vars(cls):
            type.__setattr__(cls, "__init__", _made_by(vars(cls)["__init__"]))

    def __setattr__(self, name: str, value: Any) -> None:
        if _OPEN not in vars(self):
            kind = type(self).__name__
            raise AttributeError(
                f"{kind}.{name} cannot be changed; make another {kind} (a dataclass must be frozen)"
            )
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        self.__setattr__(name, None)
        super().__delattr__(name)


def _made_by(init: Callable[..., None]) -> Callable[..., None]:
    @wraps(init)
    def make(self: Any, *args: Any, **options: Any) -> None:
        if _OPEN in vars(self):  # a subclass makes it, and goes on after this
            _call(init, self, args, options)
            return
        vars(self)[_OPEN] = True
        try:
            _call(init, self, args, options)
        finally:
            del vars(self)[_OPEN]

    return make


def _call(
    init: Callable[..., None], made: Any, args: Tuple[Any, ...], options: Mapping[str, Any]
) -> None:
    """Call a constructor; where arguments do not fit, name the class that is made.

    Python would name the class that has the constructor, which may be a private one.
    """
    try:
        init(made, *args, **options)
    except TypeError as error:
        if (wrong := _misfit(init, made, args, options)) is None:
            raise
        raise TypeError(f"{type(made).__name__}: {wrong}") from error


def _misfit(
    init: Callable[..., None], made: Any, args: Tuple[Any, ...], options: Mapping[str, Any]
) -> Optional[str]:
    """Return how arguments do not fit a constructor; None if they do."""
    from inspect import Parameter, signature  # needed where something is wrong

    known = signature(init).parameters
    takes_all = any(each.kind is Parameter.VAR_KEYWORD for each in known.values())
    unknown = None if takes_all else next((name for name in options if name not in known), None)
    if unknown is not None:
        return f"unknown option {unknown!r}{hint_to(unknown, list(known)[1:])}"
    try:
        signature(init).bind(made, *args, **options)
    except TypeError as error:
        return str(error)
    return None
