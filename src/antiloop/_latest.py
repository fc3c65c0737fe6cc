"""Remember only the latest of things without end."""

from collections import OrderedDict
from typing import Any, Tuple, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Latest(OrderedDict[K, V]):
    """A dictionary of the values that were set last; it forgets what was set longest ago.

    Args:
        size: how many there are at most, 1 or more.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size

    @property
    def is_full(self) -> bool:
        """Whether a further key takes the place of another."""
        return len(self) == self._size

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        if len(self) > self._size:
            self.popitem(last=False)

    def __reduce__(self) -> Tuple[Any, ...]:
        return Latest, (self._size,), None, None, iter(self.items())
