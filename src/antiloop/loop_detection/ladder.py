"""Where each loop of a run stands on the ladder, and which calls are refused."""

from typing import Any, Dict, FrozenSet, Mapping, Optional, Tuple

from ..short_repr import counted, short_repr
from .detection import EVERY_TOOL, LoopDetection
from .evidence import Facts
from .latest import Latest
from .policy import Escalation, LoopAction
from .shortening import shortened

MAX_LOOPS = 8
"""How many different loops of one run are remembered; the one met longest ago is forgotten."""
MAX_MEMBERS = 16
"""How many different calls of one loop are refused: the last ones."""
MAX_REASON = 300
"""Characters that are kept of what was found."""


class Ladder:
    """The state of an `Escalation` in one run: plain numbers and fingerprints.

    Args:
        escalation: the ladder that loops climb.
        own: ladders of certain detectors, by name.
    """

    def __init__(
        self, escalation: Escalation, own: Optional[Mapping[str, Escalation]] = None
    ) -> None:
        self._escalation = escalation
        self._own = own or {}
        self._loops: Latest[str, Tuple[int, int]] = Latest(MAX_LOOPS)
        self._interventions = 0
        self.blocked: FrozenSet[str] = frozenset()
        """Fingerprints of the calls that are refused."""
        self.blocked_by = ""
        """Identity of the loop that they belong to."""
        self.scope = ""
        """The tool that is refused whatever its arguments, `EVERY_TOOL` for all of them."""
        self.reason = ""
        """What was found, in one sentence."""

    def __repr__(self) -> str:
        standing = [f"blocked by {self.blocked_by}"] if self.blocked else []
        return short_repr(self, counted(len(self._loops), "loop"), *standing)

    def climb(self, found: LoopDetection, round_number: int) -> Tuple[LoopAction, int]:
        """Give the action for a detection in this round, and how many this loop had before.

        A further detection needs a further lap, and a notice is given once per rung.
        """
        ladder = self._own.get(found.detector_name, self._escalation)
        count, last = self._loops.get(found.identity, (0, 0))
        if count and round_number - last < ladder.every * found.period:
            self._loops[found.identity] = (count, last)
            return LoopAction.CONTINUE, count
        self._loops[found.identity] = (count + 1, round_number)
        return self._action(ladder, count), count

    def _action(self, ladder: Escalation, count: int) -> LoopAction:
        actions, budget = ladder.actions, self._escalation.max_interventions
        action = LoopAction(actions[min(count, len(actions) - 1)])
        if action is LoopAction.NOTIFY and count >= len(actions):
            return LoopAction.CONTINUE
        is_spent = budget is not None and self._interventions >= budget
        return LoopAction.STOP if is_spent and not action.ends_run else action

    def carry_out(self, action: LoopAction, found: LoopDetection) -> None:
        """Remember what an action does to later calls."""
        self._interventions += 1
        if action is LoopAction.BLOCK:
            self.blocked = frozenset(found.members[-MAX_MEMBERS:])
            self.blocked_by, self.scope = found.identity, found.scope
            self.reason = shortened(found.message, MAX_REASON)

    def refuses(self, facts: Facts) -> bool:
        """Whether this call is refused."""
        return facts.call in self.blocked or self.scope in (EVERY_TOOL, facts.tool)

    def leave(self) -> None:
        """Refuse nothing any more: the agent does something else."""
        self.blocked, self.blocked_by, self.scope, self.reason = frozenset(), "", "", ""

    def to_dict(self) -> Dict[str, Any]:
        """Give the state as plain JSON."""
        state: Dict[str, Any] = {
            "loops": [[name, *numbers] for name, numbers in self._loops.items()],
            "interventions": self._interventions,
        }
        if self.blocked:
            state["blocked"] = sorted(self.blocked)
            state["blocked_by"] = self.blocked_by
            state["scope"] = self.scope
            state["reason"] = self.reason
        return state

    def load(self, state: Mapping[str, Any]) -> None:
        """Take over a state that `to_dict` gave."""
        self._loops.clear()
        for name, count, last in state["loops"]:
            self._loops[str(name)] = int(count), int(last)
        self._interventions = int(state["interventions"])
        self.blocked = frozenset(str(key) for key in state.get("blocked", ()))
        self.blocked_by = str(state.get("blocked_by", ""))
        self.scope = str(state.get("scope", ""))
        self.reason = str(state.get("reason", ""))
