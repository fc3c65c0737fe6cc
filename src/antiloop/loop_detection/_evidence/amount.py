"""The amount of work left: the number in an answer that an agent works on."""

import re
from typing import Optional

from .noise import LONG
from .plain_answer import contains_any

_OPEN_WORDS = tuple(
    """
    failed failing failures errors problems issues warnings conflicts violations differences
    mismatches remaining left unresolved pending missing
    """.split()
)
_OPEN = rf"(?:{'|'.join(_OPEN_WORDS)})"
# 12 failed, 3 more errors, "failed": 12; no status as in "failed: 503", no end of a time or a date.
_LEFT = re.compile(
    rf"\b(?<!\d[:.-])(\d{{1,7}}) (?:[a-z]{{1,20}} )?{_OPEN}\b"
    rf"|\b{_OPEN}\"?[=:] ?(?![45]\d\d\b)(\d{{1,7}})\b"
)
_PERCENT = re.compile(r"\b(\d{1,3}(?:\.\d{1,4})?) ?%")
_TIME = re.compile(r"\b(\d{1,7})(?:\.\d{1,9})? ?(?:m?s|secs?|seconds?|minutes?)\b")
_MOST = 10**9


def amount_left(text: str, is_waiting: bool = False) -> Optional[int]:
    """Return how much an answer says is left to do: what fails or waits, or in percent.

    Of a wait, also the time that it names last, which falls where it is left and rises where it has
    passed. Only two amounts of one kind can be compared. Returns None if the answer has no amount.

    >>> amount_left("12 failed, 8 passed") > amount_left("7 failed, 13 passed")
    True
    >>> amount_left("running, 40 % done") < amount_left("running, 10 % done")
    True
    """
    head = text[:LONG].lower()
    if contains_any(head, _OPEN_WORDS):
        found = _LEFT.findall(head)
        if found:
            return min(sum(int(before or after) for before, after in found), _MOST)
    done = _PERCENT.search(head) if "%" in head else None
    if done is not None:
        return max(0, int(10_000 * (100 - float(done[1]))))
    times = _TIME.findall(head) if is_waiting else ()
    return int(times[-1]) if times else None
