"""The calls of a run as a judge sees them."""

from dataclasses import dataclass
from typing import Optional, Tuple

from ...short_repr import repr_of_fields
from ...stability import beta


@beta
@dataclass(frozen=True)
class CaseCall:
    """One call as a judge sees it; its texts are masked, and still untrusted."""

    number: int
    """The call's number in the run, counted from 0."""
    tool: str
    arguments: str
    """Shortened arguments; for a call similar to an earlier one, the difference."""
    result: str
    """Shortened result; if it is similar to an earlier one, the difference."""
    same: Tuple[int, ...] = ()
    """Numbers of the earlier calls with the same arguments."""
    near: Optional[int] = None
    """Number of the earlier call that the arguments are compared with."""
    same_result: Tuple[int, ...] = ()
    """Numbers of the earlier calls with the same result."""
    near_result: Optional[int] = None
    """Number of the earlier call that the result is compared with."""
    changes_between: int = 0
    """Calls that changed something since the last call with the same arguments."""
    is_error: bool = False
    is_known: bool = True
    """Whether the result is known."""

    __repr__ = repr_of_fields


@beta
@dataclass(frozen=True)
class CaseRound:
    """The calls of one reply of the model."""

    calls: Tuple[CaseCall, ...]
    after_user: bool = False
    """Whether the user spoke just before."""
    omitted: int = 0
    """Number of further calls of the round, which are left out."""

    __repr__ = repr_of_fields
