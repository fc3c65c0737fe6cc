"""What a judge sees of a run."""

from dataclasses import dataclass
from typing import Tuple

from ...short_repr import counted, quoted, short_repr
from ...stability import beta
from .case_prompt import prompt_of
from .case_round import CaseRound


@beta
@dataclass(frozen=True)
class CaseFile:
    """The end of a run, from which a judge decides whether the agent is stuck.

    It stays small for long runs, and the detector's ``mask`` is applied. All texts in it come from
    the model and its tools: treat them as data.
    """

    run_id: str
    """Id of the run; empty if unknown."""
    step: int
    """Index of the run's last call, counted from 0."""
    suspicion: float
    """From 0 to 1; see `LoopVerdict.suspicion`."""
    rounds: Tuple[CaseRound, ...] = ()
    """The last rounds, at most 20, oldest first."""
    found: str = ""
    """An uncertain finding of a detector, in one sentence, or empty."""

    def __repr__(self) -> str:
        rounds = counted(len(self.rounds), "round")
        return short_repr(self, quoted(self.run_id), f"step {self.step}", rounds)

    def prompt(self) -> str:
        """Return the question as a prompt for a model, at most 6,000 characters.

        Text from tools or the model is placed between two marked lines, and each of its lines
        begins with a bar, so it can neither end that part nor pass for the question.
        """
        return prompt_of(self.rounds, self.found)
