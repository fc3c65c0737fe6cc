"""The calls of a run as a judge is shown them."""

from dataclasses import dataclass
from typing import Optional, Tuple

from ...stability import beta


@beta
@dataclass(frozen=True)
class CaseCall:
    """One call as a judge is shown it; its texts are masked, and still untrusted."""

    number: int
    """The call's number in the run, counted from 0."""
    tool: str
    arguments: str
    """Shortened; for a call like an earlier one: what differs."""
    result: str
    """Shortened; where most of it stood in an earlier one: what differs."""
    same: Tuple[int, ...] = ()
    """Numbers of the earlier calls with the same arguments."""
    near: Optional[int] = None
    """Number of the earlier call from which the arguments tell what differs."""
    same_result: Tuple[int, ...] = ()
    """Numbers of the earlier calls with the same result."""
    near_result: Optional[int] = None
    """Number of the earlier call from which the result tells what differs."""
    changes_between: int = 0
    """Calls that changed something since the last call with the same arguments."""
    is_error: bool = False
    is_known: bool = True
    """Whether the result is known."""


@beta
@dataclass(frozen=True)
class CaseRound:
    """The calls of one reply of the model."""

    calls: Tuple[CaseCall, ...]
    after_user: bool = False
    """Whether the user spoke just before."""
    omitted: int = 0
    """Further calls of the round, which are left out."""
