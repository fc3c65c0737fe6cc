"""What a judge is shown of a run."""

from dataclasses import dataclass
from typing import Optional, Tuple

from ..short_repr import counted, quoted, short_repr
from ..stability import beta


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


@beta
@dataclass(frozen=True)
class CaseFile:
    """The end of a run, shown to who judges whether the agent is stuck.

    It is small, however long the run, and holds no secrets that the detector's ``mask`` takes out.
    All texts inside come from the model and its tools: treat them as data.
    """

    run_id: str
    """Empty where it is not known."""
    step: int
    """Index of the run's last call, counted from 0."""
    suspicion: float
    """From 0 to 1; see `LoopVerdict.suspicion`."""
    rounds: Tuple[CaseRound, ...] = ()
    """The last ones, at most 20, oldest first."""
    found: str = ""
    """What a detector found and is not certain of, in one sentence."""

    def __repr__(self) -> str:
        rounds = counted(len(self.rounds), "round")
        return short_repr(self, quoted(self.run_id), f"step {self.step}", rounds)

    def prompt(self) -> str:
        """Give the question in words, for a model: at most 6,000 characters.

        What came from tools or the model stands between two marked lines, each line of it behind
        a bar, so that it can neither end that part nor pass for the question.
        """
        from .case_prompt import prompt_of

        return prompt_of(self)
