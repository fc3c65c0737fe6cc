"""How far the loops of a run have climbed on one ladder."""

from dataclasses import astuple, dataclass
from math import inf
from typing import Any, Dict, Mapping

from ..latest import Latest
from .detection import LoopDetection
from .policy import Escalation, LoopAction

MAX_LOOPS = 32
"""How many different loops are remembered separately."""
MAX_CALLS = 50
"""How many calls of loops are remembered, to recognize a loop that another detector finds."""


@dataclass(frozen=True)
class Standing:
    """The position of one loop."""

    rung: int = 0
    """Rungs that it has climbed."""
    taken: int = 0
    """Rungs that it climbed itself."""
    taken_at: int = 0
    """The round in which it took the last one."""
    found_at: int = 0
    """The round in which it was last found."""
    calls: int = 0
    """Calls of the run then, the whole round included; 0 for a loop of words."""


_NEW = Standing()


@dataclass(frozen=True)
class Step:
    """What a detection requires."""

    action: LoopAction
    """The action."""
    rung: int
    """Rungs that the loop has climbed."""
    is_further: bool
    """Whether it is a further repetition of the loop."""


class Rungs:
    """The loops that climb one `Escalation`.

    A loop that shares calls with an earlier loop, perhaps from another detector, continues at the
    position of that loop, and so does one that was under way when the earlier loop was found: of
    calls in turn, detectors find now these, now those. Forgotten loops pass their position on to
    new ones, so a run that meets new loops again and again climbs as well.
    """

    def __init__(self, escalation: Escalation) -> None:
        self._escalation = escalation
        self._actions = [LoopAction(action) for action in escalation.actions]
        self._loops: Latest[str, Standing] = Latest(MAX_LOOPS)
        self._calls: Latest[str, int] = Latest(MAX_CALLS)
        self._forgotten = 0

    def __bool__(self) -> bool:
        return bool(self._loops)

    def step(self, found: LoopDetection, round_number: int) -> Step:
        """Return what a detection in this round requires; nothing is stored."""
        ladder, known = self._escalation, self._known(found, round_number)
        if known.taken and round_number - known.taken_at < self._wait(found, known):
            return Step(LoopAction.CONTINUE, known.rung, is_further=False)
        rung = known.rung
        if ladder.resumes:
            rung = max(rung, self._shared_rung(found), self._overlapping_rung(found))
        return Step(self._action(found, rung, known.taken), rung, is_further=True)

    def remember(self, found: LoopDetection, step: Step, round_number: int, calls: int = 0) -> None:
        """Store what a detection required, and how many calls the run had then."""
        known = self._known(found, round_number)
        taken, taken_at = known.taken, known.taken_at
        if step.is_further:
            taken, taken_at = taken + 1, round_number
        rung = step.rung + step.is_further
        self._forget(self._loops, found.identity)
        self._loops[found.identity] = Standing(rung, taken, taken_at, round_number, calls)
        for call in found.members:
            self._forget(self._calls, call)
            self._calls[call] = max(rung, self._calls.get(call, 0))

    def to_dict(self) -> Dict[str, Any]:
        """Return the state as plain JSON."""
        return {
            "loops": [[identity, *astuple(known)] for identity, known in self._loops.items()],
            "calls": [[call, rung] for call, rung in self._calls.items()],
            "forgotten": self._forgotten,
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Load a state from `to_dict`."""
        for identity, *numbers in state["loops"]:
            self._loops[str(identity)] = Standing(*map(int, numbers))
        for call, rung in state["calls"]:
            self._calls[str(call)] = int(rung)
        self._forgotten = int(state["forgotten"])

    def _known(self, found: LoopDetection, round_number: int) -> Standing:
        known = self._loops.get(found.identity, _NEW)
        was_left = round_number - known.found_at > 1
        return _NEW if was_left and not self._escalation.resumes else known

    def _wait(self, found: LoopDetection, known: Standing) -> int:
        """Return the rounds that must pass before the next rung.

        After a notice or a block, less than a whole lap shows that the agent goes on.
        """
        ladder = self._escalation
        last = self._actions[min(known.rung, len(self._actions)) - 1]
        return ladder.every * (found.period if ladder.per_lap or last.ends_run else found.spacing)

    def _shared_rung(self, found: LoopDetection) -> int:
        """Return the rung of the loops that share a call with this one."""
        rungs = [self._calls.get(call, 0) for call in found.members]
        if found.identity not in self._loops:
            rungs.append(self._forgotten)
        return max(rungs, default=0)

    def _overlapping_rung(self, found: LoopDetection) -> int:
        """Return the rung of the loops that were found after this one began, or in that round."""
        first = min(found.indices, default=inf)
        rungs = [each.rung for each in self._loops.values() if each.calls > first]
        return max(rungs, default=0)

    def _action(self, found: LoopDetection, rung: int, taken: int) -> LoopAction:
        actions = self._actions
        action = actions[min(rung, len(actions) - 1)]
        if action is LoopAction.NOTIFY and taken >= len(actions):
            return LoopAction.CONTINUE
        if action is LoopAction.BLOCK and taken and found.refused == ():
            return actions[-1]  # nothing can be refused, so it is the turn of what comes after
        return action

    def _forget(self, latest: "Latest[str, Any]", key: str) -> None:
        """Make room for a key; the rung of a forgotten loop is kept."""
        if key in latest or not latest.is_full:
            return
        oldest = next(iter(latest.values()))
        rung = oldest.rung if isinstance(oldest, Standing) else oldest
        self._forgotten = max(self._forgotten, rung)
