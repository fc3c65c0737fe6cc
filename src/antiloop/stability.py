"""Markers that tell a reader, and a tool, how settled a public name is.

``@stable`` names change only with a major version; ``@beta`` names may change with a minor one,
and the changelog says how. Both only set ``__stability__``; they cost nothing at run time.
"""

from typing import TypeVar

__all__ = ["beta", "stable"]

_T = TypeVar("_T")


def stable(thing: _T) -> _T:
    """Mark a class or function as stable: ``thing.__stability__ == "stable"``."""
    return _mark(thing, "stable")


def beta(thing: _T) -> _T:
    """Mark a class or function as beta: ``thing.__stability__ == "beta"``."""
    return _mark(thing, "beta")


def _mark(thing: _T, level: str) -> _T:
    thing.__stability__ = level  # type: ignore[attr-defined]
    return thing
