"""Bound the share of good runs that are stopped, given how many of some were.

The bound is the exact one-sided one of C. J. Clopper and E. S. Pearson, "The use of confidence or
fiducial limits illustrated in the case of the binomial", Biometrika 26 (1934): the share at which
so few stops, or fewer, would be just as unlikely as the confidence leaves room for. It takes the
runs to be drawn independently from those to come, and nothing else.
"""

import math
from itertools import accumulate
from typing import Callable

from .._checks import check_threshold, is_number
from ..stability import beta

_PRECISION = 1e-12


@beta
def upper_bound(stops: int, runs: int, confidence: float = 0.95) -> float:
    """Return an upper bound of the true share of stops, with this confidence.

    Args:
        stops: how many of the runs were stopped.
        runs: how many there were; with none, or all of them stopped, the bound is 1.
        confidence: between 0 and 1, both excluded.

    Raises:
        ValueError: for numbers out of range.

    >>> round(upper_bound(0, 299), 5)
    0.00997
    """
    check_threshold("runs", runs, 0)
    check_threshold("stops", stops, 0)
    if stops > runs:
        raise ValueError(f"stops must be from 0 to the number of runs, got {stops} of {runs}")
    _check_share("confidence", confidence)
    if stops == runs:
        return 1.0
    steps = round(1 / _PRECISION)
    return _first(lambda at: _is_unlikely(stops, runs, at / steps, confidence), 0, steps) / steps


@beta
def stops_allowed(runs: int, share: float, confidence: float = 0.95) -> int:
    """Return how many of the runs may be stopped with the bound at or under a share.

    Returns:
        The number, or -1 if the runs are too few even with no stop at all.

    Raises:
        ValueError: for numbers out of range.

    >>> stops_allowed(298, 0.01), stops_allowed(299, 0.01), stops_allowed(473, 0.01)
    (-1, 0, 1)
    """
    check_threshold("runs", runs, 0)
    _check_share("share", share)
    _check_share("confidence", confidence)
    too_many = _first(lambda stops: not _is_unlikely(stops, runs, share, confidence), -1, runs)
    return too_many - 1


@beta
def runs_needed(stops: int, share: float, confidence: float = 0.95) -> int:
    """Return how many runs, so many of them stopped, bring the bound to a share.

    Raises:
        ValueError: for numbers out of range.

    >>> runs_needed(0, 0.01), runs_needed(1, 0.01)
    (299, 473)
    """
    check_threshold("stops", stops, 0)
    _check_share("share", share)
    _check_share("confidence", confidence)
    low, high = stops, stops + 1
    while not _is_unlikely(stops, high, share, confidence):
        low, high = high, 2 * high
    return _first(lambda runs: _is_unlikely(stops, runs, share, confidence), low, high)


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the first number above `low` from which on something holds, `high` at the latest."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _is_unlikely(stops: int, runs: int, share: float, confidence: float) -> bool:
    """Whether so few stops would surprise, were this the true share."""
    return _tail(stops, runs, share) <= (1 - confidence) * (1 + _PRECISION)


def _tail(stops: int, runs: int, share: float) -> float:
    """Return the probability of at most so many stops; in logarithms, as factors overflow."""
    ways = accumulate((math.log((runs - i) / (i + 1)) for i in range(stops)), initial=0.0)
    stopped, passed = math.log(share), math.log1p(-share)
    return math.fsum(
        math.exp(log_ways + i * stopped + (runs - i) * passed) for i, log_ways in enumerate(ways)
    )


def _check_share(name: str, value: float) -> None:
    if not (is_number(value) and 0 < value < 1):
        raise ValueError(f"{name} must be between 0 and 1, both excluded, got {value!r}")
