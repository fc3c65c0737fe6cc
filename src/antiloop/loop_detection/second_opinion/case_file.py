"""What a judge is shown of a run."""

from dataclasses import dataclass
from typing import Tuple

from ...short_repr import counted, quoted, short_repr
from ...stability import beta
from .case_prompt import prompt_of
from .case_round import CaseRound


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
        return prompt_of(self.rounds, self.found)
