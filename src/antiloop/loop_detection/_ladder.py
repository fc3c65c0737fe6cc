"""The ladder of a run: the step that each loop has reached, and the calls that are blocked.

A finding is weighed in this order:

1. Its loop took a rung fewer than ``every`` rounds ago: nothing. Whole laps count with ``per_lap``,
   and after an action that ends the run.
2. Its rung is the highest of these:

   * its own rung;
   * the rung of a loop that shares a call and its answer with it;
   * the rung of a loop that was found after this one began, if ``inherits`` is set.

   So a loop never starts again at the bottom while the same calls get the same answers, even if
   another detector finds it or it was forgotten. Where they get another answer, a new loop begins.
3. The action of that rung is taken, with three exceptions:

   * a notice is not repeated on the last rung;
   * a block that would hit healthy work gives way to a notice, and after it to the last action;
   * a run that has used up its interventions is stopped.
4. The strongest action of a round counts, and every loop that reached its block is blocked.
"""

from dataclasses import astuple, dataclass, replace
from itertools import chain, repeat
from math import inf
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, TypeVar

from .._short_repr import counted, short_repr
from ._blocks import Blocks
from ._detection import LoopDetection, lengthened
from ._policy import RANK, Escalation, LoopAction

# What is remembered is bounded: a run may go on for days, and a snapshot must stay small.
MAX_LOOPS = 32
"""The number of different loops that are remembered separately."""
MAX_CALLS = 50
"""The number of calls of loops remembered, to recognize a loop that another detector finds."""


@dataclass(frozen=True)
class _Position:
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
    length: int = 0
    """Calls of the loop since it began; detectors see only those in the window."""


_NEW = _Position()


@dataclass(frozen=True)
class _Call:
    """A call of a loop."""

    rung: int = 0
    """Rungs that a loop with it has climbed."""
    answer: Optional[str] = None
    """Its answer in that loop; None where it is not known."""
    since: int = -1
    """The call of the run from which on it had this answer, if it had another one before."""

    def may_answer(self, answer: Optional[str]) -> bool:
        """Whether an answer is not known to be another one."""
        return None in (answer, self.answer) or answer == self.answer


_Kept = TypeVar("_Kept", _Position, _Call)


@dataclass(frozen=True)
class _Step:
    """The step that a detection requires."""

    action: LoopAction
    rung: int
    """Rungs that the loop has climbed."""
    known: _Position
    """The position of the loop before the step."""
    is_further: bool = True
    """Whether it is a further repetition of the loop."""


class Climb:
    """The loops that climb one `Escalation`.

    A loop continues at the position of an earlier loop, perhaps from another detector, if it shares
    a call and its answer with that loop or was under way when that loop was found. The reason: when
    calls take turns, detectors find sometimes these calls and sometimes those. Forgotten loops pass
    their position on to new ones, so a run that meets new loops again and again climbs as well.
    """

    def __init__(self, escalation: Escalation) -> None:
        self._escalation = escalation
        self._actions = [LoopAction(action) for action in escalation.actions]
        self._loops: Dict[str, _Position] = {}
        self._calls: Dict[str, _Call] = {}
        self._forgotten = 0

    def __bool__(self) -> bool:
        return bool(self._loops)

    def step(self, found: LoopDetection, round_number: int) -> _Step:
        """Return what a detection in this round requires; nothing is stored."""
        ladder, known = self._escalation, self._known(found, round_number)
        if known.taken and round_number - known.taken_at < self._wait(found, known):
            return _Step(LoopAction.CONTINUE, known.rung, known, is_further=False)
        if _is_apart(found) and self._overlapping_rung(found):
            return _Step(LoopAction.CONTINUE, 0, known, is_further=False)
        rung = known.rung
        # A model that is refused often goes round the same loop by another call, which another
        # detector sees. It would start again at the bottom, and so never reach the end.
        if ladder.resumes:
            rung = max(rung, self._shared_rung(found))
            if found.inherits:
                rung = max(rung, self._overlapping_rung(found))
        action = self._action(found, rung, known.taken)
        # What must not end the run takes no rung there, or it would put off a finding that may.
        is_further = found.may_end_run or action is not LoopAction.CONTINUE
        return _Step(action, rung, known, is_further)

    def remember(self, found: LoopDetection, step: _Step, round_number: int, calls: int) -> None:
        """Store the step of a loop after so many calls of the run; 0 keeps its earlier count."""
        known = step.known
        taken, taken_at = known.taken, known.taken_at
        # A rung that was inherited was taken by another loop, so it counts for no waiting here.
        if step.is_further:
            taken, taken_at = taken + 1, round_number
        # Its position would pass to every loop that is found later.
        rung = 0 if _is_apart(found) else step.rung + step.is_further
        length = self._length(found)
        if not calls:
            calls, length = known.calls, known.length
        position = _Position(rung, taken, taken_at, round_number, calls, length)
        self._loops = self._with(self._loops, MAX_LOOPS, found.identity, position)
        for call, answer in _answered(found):
            before = self._calls.get(call, _Call())
            if before.may_answer(answer):
                kept = replace(before, rung=max(rung, before.rung), answer=answer or before.answer)
            else:
                kept = _Call(rung, answer, since=min(found.indices, default=0))
            self._calls = self._with(self._calls, MAX_CALLS, call, kept)

    def whole(self, found: LoopDetection) -> LoopDetection:
        """Return a finding of this round with the count of its whole loop."""
        return lengthened(found, self._loops[found.identity].length)

    def to_dict(self) -> Dict[str, Any]:
        """Return the state as plain JSON."""
        return {
            "loops": [[identity, *astuple(known)] for identity, known in self._loops.items()],
            "calls": [[call, *astuple(known)] for call, known in self._calls.items()],
            "forgotten": self._forgotten,
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Load a state from `to_dict`."""
        for identity, *numbers in state["loops"][-MAX_LOOPS:]:
            self._loops[str(identity)] = _Position(*map(int, numbers))
        for call, rung, answer, since in state["calls"][-MAX_CALLS:]:
            self._calls[str(call)] = _Call(int(rung), answer and str(answer), int(since))
        self._forgotten = int(state["forgotten"])

    def _known(self, found: LoopDetection, round_number: int) -> _Position:
        known = self._loops.get(found.identity, _NEW)
        if self._has_new_answers(found, known):
            return _NEW
        was_left = round_number - known.found_at > 1
        if not found.inherits:
            # It is the same one only if it began before it was last found.
            return known if min(found.indices, default=0) < known.calls else _NEW
        return _NEW if was_left and not self._escalation.resumes else known

    def _length(self, found: LoopDetection) -> int:
        """Count the calls of a loop: those known before, if it goes on, and those since."""
        known, length = self._loops.get(found.identity, _NEW), len(found.indices)
        further = sum(index >= known.calls for index in found.indices)
        return length if further == length else max(length, known.length + further)

    def _wait(self, found: LoopDetection, known: _Position) -> int:
        """Return the rounds that must pass before the next rung.

        After a notice or a block, less than a whole lap shows that the agent goes on.
        """
        ladder = self._escalation
        last = self._actions[max(0, min(known.rung, len(self._actions)) - 1)]
        return ladder.every * (found.period if ladder.per_lap or last.ends_run else found.spacing)

    def _shared_rung(self, found: LoopDetection) -> int:
        """Return the rung of the loops that share a call with this one, and its answer."""
        rungs = [call.rung for call, answer in self._remembered(found) if call.may_answer(answer)]
        if found.identity not in self._loops:
            rungs.append(self._forgotten)
        return max(rungs, default=0)

    def _has_new_answers(self, found: LoopDetection, known: _Position) -> bool:
        """Whether all remembered calls of a loop got another answer since it was last found."""
        same = [
            call.since < known.calls and call.may_answer(answer)
            for call, answer in self._remembered(found)
        ]
        return bool(same) and not any(same)

    def _remembered(self, found: LoopDetection) -> List[Tuple[_Call, Optional[str]]]:
        """Return what is remembered of the calls of a loop, each with its answer now."""
        answered = _answered(found)
        return [(self._calls[call], answer) for call, answer in answered if call in self._calls]

    def _overlapping_rung(self, found: LoopDetection) -> int:
        """Return the rung of the loops that were found after this one began, or in that round."""
        first = min(found.indices, default=inf)
        rungs = [each.rung for each in self._loops.values() if each.calls > first]
        return max(rungs, default=0)

    def _action(self, found: LoopDetection, rung: int, taken: int) -> LoopAction:
        actions = self._actions
        action = actions[min(rung, len(actions) - 1)]
        # The same words on the same rung would only fill the context.
        if action is LoopAction.NOTIFY and (taken > rung or taken >= len(actions)):
            return LoopAction.CONTINUE
        if action is LoopAction.BLOCK and found.refused == ():
            # Refusals would hit healthy work, and no reply can be refused: first the model receives
            # a notice, and then it is the turn of what comes last. Where the loop goes on from one
            # with a notice, its exact calls are refused.
            if taken or not found.may_end_run:
                action = actions[-1]
            if action is LoopAction.BLOCK and not (rung and found.members):
                return LoopAction.NOTIFY
        if action.ends_run and not found.may_end_run:
            return self._strongest_mild(found, taken)
        return action

    def _strongest_mild(self, found: LoopDetection, taken: int) -> LoopAction:
        """Return the strongest action that lets the run go on, if it would do anything."""
        mild = [action for action in self._actions if not action.ends_run]
        if not mild or (taken and (found.refused == () or mild[-1] is LoopAction.NOTIFY)):
            return LoopAction.CONTINUE
        return LoopAction.NOTIFY if found.refused == () else mild[-1]

    def _with(self, known: Dict[str, _Kept], most: int, key: str, value: _Kept) -> Dict[str, _Kept]:
        """Return what is remembered, and one more; of what is forgotten for it, the rung stays."""
        kept = {each: known[each] for each in known if each != key}
        kept[key] = value
        if len(kept) > most:
            self._forgotten = max(self._forgotten, kept.pop(next(iter(kept))).rung)
        return kept


def _is_apart(found: LoopDetection) -> bool:
    """Whether a finding is about a stretch of the run rather than one loop.

    It shares no position with loops, and is silent where one of them was found meanwhile.
    """
    return not (found.inherits or found.members)


def _answered(found: LoopDetection) -> Iterable[Tuple[str, Optional[str]]]:
    """Return the calls of a loop, each with its answer."""
    return zip(found.members, chain(found.answers, repeat(None)))


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
        self._main = Climb(escalation)
        self._own = {name: Climb(ladder) for name, ladder in (own or {}).items()}
        self._interventions = 0
        self.blocks = Blocks()
        """The loops whose calls are refused."""

    def __repr__(self) -> str:
        return short_repr(self, counted(len(self.blocks), "block"))

    @property
    def parts(self) -> Tuple[object, ...]:
        """The objects that a round changes."""
        return self, self.blocks, self._main, *self._own.values()

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
        climbs = [self._own.get(found.detector_name, self._main) for found in findings]
        # All steps start from the rungs before this round: the order makes no difference.
        steps = [climb.step(found, round_number) for climb, found in zip(climbs, findings)]
        for climb, found, step in zip(climbs, findings, steps):
            # A refusal names the calls of the block, of which some detectors leave out the refused
            # ones. Counted as theirs are, it would make the loop longer than it was.
            counted_calls = 0 if found.is_refusal else calls
            climb.remember(found, step, round_number, counted_calls)
        best: Tuple[LoopAction, Optional[LoopDetection], int] = (LoopAction.CONTINUE, None, 0)
        for climb, found, step in zip(climbs, findings, steps):
            if step.action is LoopAction.BLOCK:
                self.blocks.add(found)
            action = self._within_budget(step, found)
            if RANK[action] > RANK[best[0]]:
                best = (action, climb.whole(found), step.rung)
        self._interventions += best[1] is not None
        return best

    def to_dict(self) -> Dict[str, Any]:
        """Return the state as plain JSON."""
        return {
            "main": self._main.to_dict(),
            "own": {name: climb.to_dict() for name, climb in self._own.items() if climb},
            "interventions": self._interventions,
            "blocks": self.blocks.to_list(),
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Load a state from `to_dict`."""
        self._main.load(state["main"])
        for name, climb in state["own"].items():
            if name in self._own:
                self._own[name].load(climb)
        self._interventions = int(state["interventions"])
        self.blocks.load(state["blocks"])

    def _within_budget(self, step: _Step, found: LoopDetection) -> LoopAction:
        """Return the action of a step; stop if the run has used up its interventions."""
        # A budget is for runs that ignore what they read; what ends the run needs none.
        is_mild = step.action in (LoopAction.NOTIFY, LoopAction.BLOCK)
        is_spent = self._budget is not None and self._interventions >= self._budget
        ends = is_mild and is_spent and found.may_end_run
        return LoopAction.STOP if ends else step.action
