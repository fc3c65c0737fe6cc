"""What differs between two texts, in few characters."""

from typing import List, Optional

from .shortening import ends_of

_AROUND = 30
"""Characters of what is equal that are shown before a difference."""
_LONGEST = 4_000
"""Characters of a text that are compared."""


def changed_part(old: str, new: str) -> Optional[str]:
    """Return the one place in which two texts differ; None if it is over half of the new one.

    >>> changed_part("sed -n 1,80p /src/main.py", "sed -n 40,80p /src/main.py")
    'sed -n [1 -> 40],80p /src/main.py'
    """
    old, new = old[:_LONGEST], new[:_LONGEST]
    shorter = min(len(old), len(new))
    start = _common(old, new, shorter)
    end = _common(old[::-1], new[::-1], shorter - start)
    before, after = old[start : len(old) - end], new[start : len(new) - end]
    if len(after) > len(new) // 2 or len(before) > len(old) // 2:
        return None
    head, tail = new[:start], new[len(new) - end :]
    return f"{_last(head)}[{ends_of(before, 120)} -> {ends_of(after, 160)}]{tail[:_AROUND]}"


def new_lines(old: str, new: str) -> Optional[str]:
    r"""Return the lines that the earlier text lacks; None if they are over half of the new one.

    >>> new_lines("a\nb\nc", "b\nc\nd")
    'd'
    """
    known = set(old.splitlines())
    lines = new.splitlines()
    added: List[str] = [line for line in lines if line not in known]
    if len(lines) < 2 or 2 * len(added) > len(lines):
        return None
    return "\n".join(added)


def _common(one: str, other: str, most: int) -> int:
    """Count the characters that two texts begin with alike."""
    low, high = 0, most
    while low < high:  # comparing slices is fast, comparing characters is not
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def _last(head: str) -> str:
    return head if len(head) <= 2 * _AROUND else f"...{head[-_AROUND:]}"
