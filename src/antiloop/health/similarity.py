"""How similar two texts are: the share of characters that `difflib` matches."""

from difflib import SequenceMatcher
from functools import lru_cache
from typing import Dict, NamedTuple

from ..loop_detection.text.shortening import shortened

COMPARED_LENGTH = 256
"""Characters of a text that are compared: half from its start, half from its end.

`difflib` takes quadratic time."""


class ComparedText(NamedTuple):
    """What is compared of a text."""

    length: int
    """Length of the whole text."""
    text: str
    """The text, shortened."""

    @classmethod
    def of(cls, text: str) -> "ComparedText":
        """Shorten a text to what is compared."""
        return cls(len(text), shortened(text, COMPARED_LENGTH))


@lru_cache(maxsize=1024)  # a stuck run compares the same inputs again and again
def are_similar(one: ComparedText, other: ComparedText, least: float) -> bool:
    """Whether two texts are similar enough.

    Args:
        one: a text.
        other: another text.
        least: share of equal characters, from 0 to 1.
    """
    if 2 * min(one.length, other.length) < least * (one.length + other.length):
        return False
    enough = least * (len(one.text) + len(other.text)) / 2
    if _ends_in_common(one.text, other.text) >= enough:
        return True
    # The quick bounds of difflib reject few pairs, and its ratio takes twenty times as long.
    if common_length(one.text, other.text) < enough:
        return False
    return SequenceMatcher(None, one.text, other.text, autojunk=False).ratio() >= least


def common_length(one: str, other: str) -> int:
    """Return the length of the longest common subsequence; `difflib` never matches more.

    The bits of one number are a row in the usual table (Hyyrö, 2004: Bit-parallel
    LCS-length computation revisited).

    >>> common_length("abcde", "xaybzd")
    3
    """
    places: Dict[str, int] = {}
    for place, letter in enumerate(one):
        places[letter] = places.get(letter, 0) | 1 << place
    row = every = (1 << len(one)) - 1
    for letter in other:
        hits = row & places.get(letter, 0)
        row = ((row + hits) | (row - hits)) & every
    return len(one) - bin(row).count("1")


def _ends_in_common(one: str, other: str) -> int:
    """Count the characters with which both texts begin, and those with which both end."""
    start = _start_in_common(one, other)
    return start + _start_in_common(one[start:][::-1], other[start:][::-1])


def _start_in_common(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
