"""Where each loop of a run stands on the ladder, and which calls are refused."""

from typing import Any, Dict, FrozenSet, List, Optional, Tuple

from .detection import LoopDetection
from .policy import Escalation, LoopAction

MAX_LOOPS = 16
"""How many different loops of one run are remembered; the one met longest ago is forgotten."""


class Ladder:
    """The state of an `Escalation` in one run: plain numbers and fingerprints."""

    def __init__(self, escalation: Escalation) -> None:
        self._escalation = escalation
        self._loops: Dict[str, Tuple[int, int]] = {}
        self.interventions = 0
        """Notices and blocks so far."""
        self.blocked_by = ""
        """Identity of the loop whose calls are refused, if any."""
        self.blocked: FrozenSet[str] = frozenset()
        """Fingerprints of the calls that are refused."""

    def climb(self, found: LoopDetection, round_number: int) -> Tuple[LoopAction, int]:
        """Give the action for a detection in this round, and its rung, counted from 0.

        The same loop in the same lap is not detected anew, and a notice is given once per rung.
        """
        count, last = self._loops.pop(found.identity, (0, 0))
        due = count == 0 or round_number - last >= self._escalation.every * found.period
        if not due:
            self._loops[found.identity] = (count, last)
            return LoopAction.CONTINUE, 0
        self._loops[found.identity] = (count + 1, round_number)
        while len(self._loops) > MAX_LOOPS:
            del self._loops[next(iter(self._loops))]
        return self._action(count)

    def carry_out(self, action: LoopAction, found: LoopDetection) -> None:
        """Remember what an action does to later calls."""
        if action in (LoopAction.NOTIFY, LoopAction.BLOCK):
            self.interventions += 1
        if action is LoopAction.BLOCK:
            self.blocked_by = found.identity
            self.blocked = self.blocked | frozenset(found.members)

    def leave(self) -> None:
        """The agent did something else: nothing is refused any more."""
        self.blocked_by = ""
        self.blocked = frozenset()

    def _action(self, count: int) -> Tuple[LoopAction, int]:
        actions: List[Any] = list(self._escalation.actions)
        budget = self._escalation.max_interventions
        rung = min(count, len(actions) - 1)
        action: LoopAction = actions[rung]
        if budget is not None and self.interventions >= budget and not action.ends_run:
            return LoopAction.STOP, rung
        if action is LoopAction.NOTIFY and count > rung:
            return LoopAction.CONTINUE, rung
        return action, rung

    def to_dict(self) -> Dict[str, Any]:
        """Give the state as plain JSON."""
        return {
            "loops": {name: list(state) for name, state in self._loops.items()},
            "interventions": self.interventions,
            "blocked_by": self.blocked_by,
            "blocked": sorted(self.blocked),
        }

    def load(self, state: Dict[str, Any]) -> None:
        """Take over a state that `to_dict` gave."""
        self._loops = {str(name): (int(c), int(last)) for name, (c, last) in state["loops"].items()}
        self.interventions = int(state["interventions"])
        self.blocked_by = str(state["blocked_by"])
        self.blocked = frozenset(map(str, state["blocked"]))
