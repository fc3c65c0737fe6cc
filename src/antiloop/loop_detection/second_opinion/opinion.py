"""The opinion of a judge about a run."""

from dataclasses import dataclass
from typing import Any, Mapping, Optional

from ...short_repr import quoted, short_repr
from ...stability import beta
from ..text.shortening import visible

SURE = 0.7
"""The confidence from which on an opinion counts."""
MAX_REASON = 300
"""Characters that are kept of a reason."""


@beta
@dataclass(frozen=True)
class Opinion:
    """A judge's answer to the question whether a run is stuck.

    Args:
        stuck: whether the agent makes no progress.
        confidence: certainty from 0 to 1; below 0.7 the opinion has no effect.
        reason: why, in one sentence; it is shortened and control characters are escaped.

    Raises:
        TypeError: if stuck is neither True nor False, or confidence is not a number.
        ValueError: if confidence is not between 0 and 1.

    >>> Opinion(True, 0.9, "It rewrites one file.").is_sure
    True
    """

    stuck: bool
    confidence: float = 1.0
    reason: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.stuck, bool):
            raise TypeError(f"stuck must be True or False, got {self.stuck!r}")
        number = self.confidence
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise TypeError(f"confidence must be a number, got {number!r}")
        if not 0 <= number <= 1:  # NaN is not
            raise ValueError(f"confidence must be between 0 and 1, got {number!r}")
        reason = self.reason if isinstance(self.reason, str) else ""
        object.__setattr__(self, "reason", visible(" ".join(reason.split()), MAX_REASON))

    def __repr__(self) -> str:
        said = "stuck" if self.stuck else "not stuck"
        return short_repr(self, said, f"{self.confidence:g}", quoted(self.reason))

    @property
    def is_sure(self) -> bool:
        """Whether it is sure enough to count."""
        return self.confidence >= SURE

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
    if isinstance(answer, bool):
        return Opinion(answer)
    return answer if isinstance(answer, Opinion) else None


def recorded_opinion(value: Any) -> Optional[Opinion]:
    """Read an opinion from a recording; None if it is malformed."""
    if not isinstance(value, Mapping):
        return None
    try:
        return Opinion.from_dict(value)
    except (LookupError, TypeError, ValueError):
        return None
