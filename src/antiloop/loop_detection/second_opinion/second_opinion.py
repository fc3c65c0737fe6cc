"""When to ask a judge whether a run is stuck."""

import math
from dataclasses import dataclass
from typing import Any, Awaitable, Callable, Optional, Union

from ...short_repr import repr_of_fields
from ...stability import beta
from ..threshold import check_flag, check_threshold
from .case_file import CaseFile
from .opinion import Opinion

Answer = Union[Opinion, bool, None]
"""The answer of a judge; None means: without an opinion."""
Judge = Callable[[CaseFile], Union[Answer, Awaitable[Answer]]]
"""Decides whether a run is stuck, sync or async."""


@beta
@dataclass(frozen=True)
class SecondOpinion:
    """A judge, and when to ask it.

    The judge is asked when the suspicion passes a bound and no detector is certain, and again
    before a run that it finds stuck is ended. The defaults were chosen with labeled runs.

    Args:
        judge: a function that takes a `CaseFile` and returns an `Opinion`, True or False; sync or
            async.
        suspicion: the bound, above 0 and at most 1: for two rounds in a row, or exceeded by 0.14
            in one.
        gap: rounds between two questions, 1 or more. The same pause follows "not stuck" and a
            certain detector, and twice as many rounds follow a stop. The question before a stop is
            asked at once.
        limit: largest number of questions in one run, 1 or more.
        confirm: also ask before a detector blocks calls or ends the run.
        timeout: largest time for an answer in seconds; None for no limit.

    Raises:
        TypeError: if the judge is not callable.
        ValueError: if a number is out of range.
    """

    judge: Optional[Judge]
    suspicion: float = 0.45
    gap: int = 4
    limit: int = 10
    confirm: bool = False
    timeout: Optional[float] = 30.0

    __repr__ = repr_of_fields

    def __post_init__(self) -> None:
        if isinstance(self.judge, type):
            name = self.judge.__name__
            raise TypeError(f"the judge is a class; pass an instance: {name}(...)")
        if not callable(self.judge):
            raise TypeError(f"the judge must be a function of a CaseFile, got {self.judge!r}")
        if not _is_number(self.suspicion) or not 0 < self.suspicion <= 1:
            raise ValueError(f"suspicion must be above 0 and at most 1, got {self.suspicion!r}")
        check_threshold("gap", self.gap, 1)
        check_threshold("limit", self.limit, 1)
        check_flag("confirm", self.confirm)
        seconds = self.timeout
        if seconds is not None and not (_is_number(seconds) and 0 < seconds < math.inf):
            raise ValueError(f"timeout must be seconds above 0, or None, got {self.timeout!r}")


def second_opinion_of(given: Any) -> Optional[SecondOpinion]:
    """Return the settings for a judge: the defaults for a bare one, None for None."""
    if given is None or isinstance(given, SecondOpinion):
        return given
    return SecondOpinion(given)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
