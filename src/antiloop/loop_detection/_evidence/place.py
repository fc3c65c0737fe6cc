"""Places on a screen: clicks within a few pixels are one click.

Places are compared by their distance and not by a grid, where neighbors may lie in two cells.
"""

from typing import Any, Optional

from .fingerprint import KEY_LENGTH
from .noise import whole_numbers

_HALF = KEY_LENGTH // 2
_NEAR = 5
"""Pixels between two places that are the same, at most, in each direction."""
_BOARD = 50
"""Smaller numbers may be those of the cells of a board, where neighbors are different things."""


def place_of(arguments: Any) -> Optional[str]:
    """Return the place that arguments name under x and y or in one list; None if there is none.

    Two whole numbers must be all the numbers there are. They are written as digits.

    >>> place_of({"action": "left_click", "coordinate": [512, 300]})
    '002000012c'
    >>> place_of({"x": 3, "y": 4}), place_of({"offset": 512, "limit": 300})
    (None, None)
    """
    numbers = whole_numbers(arguments)
    if len(numbers) != 2:
        return None
    (one, x), (other, y) = numbers
    is_place = one == other or (one[-2:], other[-2:]) == (".x", ".y")
    return f"{x:0{_HALF}x}{y:0{_HALF}x}" if is_place and max(x, y) >= _BOARD else None


def are_beside(one: Optional[str], other: Optional[str]) -> bool:
    """Whether two places are the same but for a few pixels."""
    if one is None or other is None:
        return False
    halves = slice(_HALF), slice(_HALF, None)
    return all(abs(int(one[half], 16) - int(other[half], 16)) <= _NEAR for half in halves)
