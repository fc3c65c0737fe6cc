"""The position of each loop on its ladder, and the calls that are blocked."""

from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ..latest import Latest
from ..short_repr import counted, short_repr
from .detection import LoopDetection
from .evidence.call_features import CallFeatures
from .evidence.refusal import is_refused
from .policy import RANK, Escalation, LoopAction
from .rungs import Rungs, Step
from .text.shortening import shortened

MAX_BLOCKS = 8
"""How many loops are blocked at once."""
MAX_REFUSED = 16
"""How many different calls of one loop are blocked: the last ones."""
MAX_REASON = 300
"""How many characters of a finding are kept."""


@dataclass(frozen=True)
class Block:
    """A loop whose calls are blocked."""

    identity: str
    """Identity of the loop."""
    detector: str
    """The detector that found it."""
    refused: Tuple[str, ...]
    """The calls that are blocked; see `LoopDetection.refused`."""
    is_lasting: bool
    """Whether the block stays when the agent does something else."""
    reason: str
    """The finding in one sentence."""

    @classmethod
    def of(cls, found: LoopDetection) -> "Block":
        """Make the block of a loop; a loop without keys to refuse has its members refused."""
        refused = tuple((found.refused or found.members)[-MAX_REFUSED:])
        reason = shortened(found.message, MAX_REASON)
        return cls(found.identity, found.detector_name, refused, found.is_lasting, reason)

    def refuses(self, features: CallFeatures) -> bool:
        """Whether this call is refused."""
        return is_refused(features, self.refused)


class Ladder:
    """The state of the ladders in one run: plain numbers and fingerprints.

    Every loop climbs alone, so one detector's findings never delay the action of another. The
    strongest action of a round counts.

    Args:
        escalation: the ladder that loops climb.
        own: other ladders for some detectors, by detector name.
    """

    def __init__(
        self, escalation: Escalation, own: Optional[Mapping[str, Escalation]] = None
    ) -> None:
        self._budget = escalation.max_interventions
        self._main = Rungs(escalation)
        self._own = {name: Rungs(ladder) for name, ladder in (own or {}).items()}
        self._all = [self._main, *self._own.values()]
        self._interventions = 0
        self._blocks: Latest[str, Block] = Latest(MAX_BLOCKS)

    def __repr__(self) -> str:
        return short_repr(self, counted(len(self._blocks), "block"))

    @property
    def is_blocking(self) -> bool:
        """Whether any loop is blocked."""
        return bool(self._blocks)

    @property
    def blocks(self) -> List[Block]:
        """The loops that are blocked, oldest first."""
        return list(self._blocks.values())

    def climb(
        self, findings: Sequence[LoopDetection], round_number: int, calls: int = 0
    ) -> Tuple[LoopAction, Optional[LoopDetection], int]:
        """Climb with the findings of one round, and carry out the strongest action.

        Args:
            findings: of all detectors.
            round_number: of the round, or of the reply.
            calls: how many the run has had; 0 where the findings are about words.

        Returns:
            The action, the first finding that requires it, and how many rungs its loop has
            climbed; ``continue`` and None if there is nothing to do.
        """
        # All steps start from the rungs before this round: the order makes no difference.
        steps = [self._rungs(found).step(found, round_number) for found in findings]
        for found, step in zip(findings, steps):
            self._rungs(found).remember(found, step, round_number, calls)
        best: Tuple[LoopAction, Optional[LoopDetection], int] = (LoopAction.CONTINUE, None, 0)
        for found, step in zip(findings, steps):
            action = self._within_budget(step)
            if RANK[action] > RANK[best[0]]:
                best = (action, found, step.rung)
        self._interventions += best[1] is not None
        self._block(findings, steps)
        return best

    def refusing(self, features: CallFeatures) -> Optional[Block]:
        """Return the block that refuses this call; None if it may run."""
        return next((block for block in self._blocks.values() if block.refuses(features)), None)

    def leave(self, block: Block) -> None:
        """End the blocks of loops that the agent has left."""
        del self._blocks[block.identity]

    def leave_all(self) -> None:
        """End all blocks."""
        self._blocks.clear()

    def to_dict(self) -> Dict[str, Any]:
        """Return the state as plain JSON."""
        return {
            "main": self._main.to_dict(),
            "own": {name: rungs.to_dict() for name, rungs in self._own.items() if rungs},
            "interventions": self._interventions,
            "blocks": [
                [each.identity, each.detector, list(each.refused), each.is_lasting, each.reason]
                for each in self._blocks.values()
            ],
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Load a state from `to_dict`."""
        self._main.load(state["main"])
        for name, rungs in state["own"].items():
            if name in self._own:
                self._own[name].load(rungs)
        self._interventions = int(state["interventions"])
        for identity, detector, refused, is_lasting, reason in state["blocks"]:
            keys = tuple(str(key) for key in refused)
            block = Block(str(identity), str(detector), keys, bool(is_lasting), str(reason))
            self._blocks[block.identity] = block

    def _rungs(self, found: LoopDetection) -> Rungs:
        return self._own.get(found.detector_name, self._main)

    def _within_budget(self, step: Step) -> LoopAction:
        """Return the action of a step; stop if the run has used up its interventions."""
        is_mild = step.action in (LoopAction.NOTIFY, LoopAction.BLOCK)
        is_spent = self._budget is not None and self._interventions >= self._budget
        return LoopAction.STOP if is_mild and is_spent else step.action

    def _block(self, findings: Sequence[LoopDetection], steps: Sequence[Step]) -> None:
        """Block every loop of the round that has reached its block."""
        for found, step in zip(findings, steps):
            if step.action is LoopAction.BLOCK:
                self._blocks[found.identity] = Block.of(found)
