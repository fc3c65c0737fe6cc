"""The opinion of a judge about a run, and when a judge is asked."""

from dataclasses import dataclass
from typing import Any, Awaitable, Callable, Mapping, Optional, Union

from ..._checks import check_flag, check_seconds, check_share, check_threshold, is_number
from ..._short_repr import Shown, quoted, short_repr
from ..._text.shortening import visible
from ...stability import beta
from .case_file import CaseFile

MAX_REASON = 300
"""Characters that are kept of a reason."""


@beta
@dataclass(frozen=True)
class Opinion:
    """A judge's answer to the question whether a run is stuck.

    Args:
        stuck: whether the agent makes no progress.
        confidence: certainty from 0 to 1; see `SecondOpinion` for what it must be.
        reason: why, in one sentence; it is shortened and control characters are escaped.

    Raises:
        TypeError: if stuck is neither True nor False, or confidence is not a number.
        ValueError: if confidence is not between 0 and 1.

    >>> Opinion(True, 0.9, "It rewrites one file.")
    Opinion(stuck, 0.9, 'It rewrites one file.')
    """

    stuck: bool
    confidence: float = 1.0
    reason: str = ""

    def __post_init__(self) -> None:
        check_flag("stuck", self.stuck)
        check_share("confidence", self.confidence)
        reason = self.reason if isinstance(self.reason, str) else ""
        object.__setattr__(self, "reason", visible(" ".join(reason.split()), MAX_REASON))

    def __repr__(self) -> str:
        said = "stuck" if self.stuck else "not stuck"
        return short_repr(self, said, f"{self.confidence:g}", quoted(self.reason))

    def to_dict(self) -> "dict[str, Any]":
        """Return the opinion as plain JSON."""
        return {"stuck": self.stuck, "confidence": self.confidence, "reason": self.reason}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Opinion":
        """Read what `to_dict` wrote.

        Raises:
            LookupError, TypeError, ValueError: if it is something else.
        """
        return cls(data["stuck"], data.get("confidence", 1.0), data.get("reason", ""))


def opinion_of(answer: Any) -> Optional[Opinion]:
    """Read the answer of a judge; None if it is not an opinion.

    >>> opinion_of(True).stuck, opinion_of("yes")
    (True, None)
    """
    # Only an opinion or a flag counts: the text "no" is true for Python.
    if isinstance(answer, bool):
        return Opinion(answer)
    return answer if isinstance(answer, Opinion) else None


def recorded_opinion(value: Any) -> Optional[Opinion]:
    """Read an opinion from a recording; None if it is malformed."""
    # A recording may come from anybody, so nothing of it may raise.
    if not isinstance(value, Mapping):
        return None
    try:
        return Opinion.from_dict(value)
    except (LookupError, TypeError, ValueError):
        return None


Answer = Union[Opinion, bool, None]
"""The answer of a judge; None means: without an opinion."""
Judge = Callable[[CaseFile], Union[Answer, Awaitable[Answer]]]
"""Decides whether a run is stuck, sync or async."""


@beta
@dataclass(frozen=True, repr=False)
class SecondOpinion(Shown):
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
        confidence: from 0 to 1; an opinion with less has no effect. Of 110 answers of a reader,
            those with 0.7 or more were right in 83 of 100 cases, with 0.8 or more in 93; of 63
            others, with 0.8 or more in 24 of 27.

    Raises:
        TypeError: if the judge is not callable, or confidence is not a number.
        ValueError: if a number is out of range.
    """

    judge: Judge
    suspicion: float = 0.45
    gap: int = 4
    limit: int = 10
    confirm: bool = False
    timeout: Optional[float] = 30.0
    confidence: float = 0.8

    def __post_init__(self) -> None:
        if isinstance(self.judge, type):
            name = self.judge.__name__
            raise TypeError(f"the judge is a class; pass an instance: {name}(...)")
        if not callable(self.judge):
            raise TypeError(f"the judge must be a function of a CaseFile, got {self.judge!r}")
        if not is_number(self.suspicion) or not 0 < self.suspicion <= 1:
            raise ValueError(f"suspicion must be above 0 and at most 1, got {self.suspicion!r}")
        check_share("confidence", self.confidence)
        check_threshold("gap", self.gap, 1)
        check_threshold("limit", self.limit, 1)
        check_flag("confirm", self.confirm)
        check_seconds("timeout", self.timeout, or_none=True)


def second_opinion_of(given: Any) -> Optional[SecondOpinion]:
    """Return the settings for a judge: the defaults for a bare one, None for None."""
    if given is None or isinstance(given, SecondOpinion):
        return given
    return SecondOpinion(given)
