"""Sums over what is known of a run."""

from typing import Iterable, Optional, TypeVar

_Number = TypeVar("_Number", int, float)


def total(amounts: Iterable[Optional[_Number]]) -> Optional[_Number]:
    """Add up what is known; None if nothing is.

    >>> total([1, None, 2]), total([None])
    (3, None)
    """
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if known else None
