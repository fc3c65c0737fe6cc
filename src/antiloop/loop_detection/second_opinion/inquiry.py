"""When somebody is asked about one run, and what follows from the answers."""

from dataclasses import dataclass, replace
from typing import Any, Dict, List, Mapping, Optional, Sequence

from ..detection import LoopDetection
from ..detectors.base import detection
from ..evidence.judged_call import JudgedCall
from ..evidence.window import Window
from .opinion import Opinion
from .second_opinion import SecondOpinion

NAME = "second_opinion"
"""How the detection is called that an opinion becomes."""
SPACING = 2
"""Rounds that the agent has for doing something else before its loop climbs on."""
_CONCERNED_ROUNDS = 8
_SAVED_REASON = 100


@dataclass(frozen=True)
class Plan:
    """What a round comes to, depending on what is said about it."""

    unsaid: Sequence[LoopDetection]
    """The findings without an opinion, or with an uncertain one."""
    free: Sequence[LoopDetection]
    """The findings where the run is not stuck."""
    stuck: Sequence[LoopDetection]
    """The findings where it is; a loop that an opinion found is added to them."""
    asks: bool = False
    """Whether the answer is waited for; else this is what holds already."""
    before_strong: bool = False
    """Whether the question is asked only where calls would be refused, or the run ended."""
    ends_run: bool = False
    """Whether the run ends where it is stuck."""


@dataclass
class Episode:
    """A time in which a run is held to be stuck, from an opinion on."""

    began: int
    """The round that was judged first."""
    seen: int
    """The last round that was suspicious."""
    found: int
    """The last round in which a detector found something, or the first one."""
    opinion: Opinion
    ends_run: bool = False
    """Whether it was said again before the end of the run."""

    def goes_on(self, at: int, found: Sequence[LoopDetection]) -> None:
        """Take note of a further suspicious round."""
        self.seen = at
        if found:
            self.found = at


class Inquiry:
    """The questions of one run: plain numbers, and the opinions that were given.

    Args:
        options: the judge, and when it is asked.
        can_ask: whether there is somebody to ask; else only recorded opinions count.
    """

    def __init__(self, options: SecondOpinion, can_ask: bool = True) -> None:
        self.options = options
        self.can_ask = can_ask
        self.opinions: Dict[int, Opinion] = {}
        """By the step that they were given at."""
        self._asked = 0
        self._next = 0
        self._quiet_until = 0
        self._episode: Optional[Episode] = None

    def plan(
        self,
        found: Sequence[LoopDetection],
        suspicion: float,
        window: Window,
        *,
        is_answered: bool = False,
    ) -> Plan:
        """Return what follows from a round, and whether to ask the judge first.

        Args:
            found: what detectors found.
            suspicion: of the round.
            window: with the round at its end.
            is_answered: whether this was asked before, so that the answer is known.
        """
        at = window.round_count
        may_ask = is_answered or self._may_ask(at)
        if any(each.is_certain for each in found):
            return self._confirmed(found, at, may_ask)
        episode = self._going_on(at, found)
        if not (found or is_answered) and suspicion < self.options.suspicion:
            return Plan(found, found, found)
        if episode is not None:
            episode.goes_on(at, found)
            if episode.ends_run:
                return Plan(found, found, found)  # it is said already
            stuck = [self._detection(window, episode), *found]
            if found and not _is_weak(found):
                return Plan(stuck, (), stuck, asks=is_answered)  # judge and detector agree
            return Plan(found, (), stuck, asks=may_ask, before_strong=True)
        if at < self._quiet_until and not is_answered:
            return Plan((), (), ())
        return Plan(found, (), found, asks=may_ask)

    def asked(self, window: Window) -> None:
        """Take note of a question."""
        self._asked += 1
        self._next = window.round_count + self.options.gap

    def answered(self, plan: Plan, opinion: Opinion, window: Window) -> Sequence[LoopDetection]:
        """Take an opinion that is sure, and return the findings that hold now."""
        at, episode = window.round_count, self._going_on(window.round_count)
        if not opinion.stuck:
            self._episode = None
            self._quiet_until = self._next = at + self.options.gap
            return plan.free
        if any(each.is_certain for each in plan.stuck):
            return plan.stuck
        if episode is None:
            episode = self._episode = Episode(at, at, at, opinion)
            return [self._detection(window, episode), *plan.stuck]
        episode.opinion, episode.ends_run = opinion, plan.ends_run
        return [self._detection(window, episode), *plan.stuck[1:]]

    def shown(self, window: Window) -> List[int]:
        """Return the indices of the calls that a detection may show, unless later ones come.

        It shows the last one, which may lie many calls back. Of calls of one round, any may be left
        when the round leaves the window in part.
        """
        concerned = _concerned(window) if window.rounds else []
        rounds = (
            [item.index for item in passed.evidence if item in concerned]
            for passed in reversed(window.rounds)
        )
        return next(filter(None, rounds), [])

    def run_ended(self, window: Window) -> None:
        """Pause twice as long after the end of the run was called for; recordings go on."""
        self._next = max(self._next, window.round_count + 2 * self.options.gap)

    def progress(self) -> None:
        """Drop the last opinion, because of progress."""
        self._episode = None
        self._quiet_until = 0

    def to_dict(self) -> Dict[str, Any]:
        """Return the state as plain JSON."""
        episode = self._episode
        return {
            "asked": [self._asked, self._next, self._quiet_until],
            "episode": episode
            and [
                *(episode.began, episode.seen, episode.found, episode.ends_run),
                _saved(episode.opinion),
            ],
            "opinions": [[step, _saved(each)] for step, each in self.opinions.items()],
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Take over a state that `to_dict` gave."""
        self._asked, self._next, self._quiet_until = (int(number) for number in state["asked"])
        if state["episode"] is not None:
            *rounds, ends_run, saved = state["episode"]
            opinion = Opinion.from_dict(saved)
            began, seen, found = map(int, rounds)
            self._episode = Episode(began, seen, found, opinion, bool(ends_run))
        for step, opinion in state["opinions"]:
            self.opinions[int(step)] = Opinion.from_dict(opinion)

    def _may_ask(self, at: int) -> bool:
        has_questions = self.can_ask and self._asked < self.options.limit
        # The question before the end of a run is asked at once, and after no answer, later.
        is_time = at >= self._next or (self._episode is not None and at > self._episode.began)
        return has_questions and is_time

    def _going_on(self, at: int, found: Sequence[LoopDetection] = ()) -> Optional[Episode]:
        """Return the episode of a round, if it has not ended before."""
        episode, gap = self._episode, self.options.gap
        if episode is None:
            return None
        # After its end was called for, a run that goes on may have found another way.
        is_new = episode.ends_run and _is_weak(found) and at - episode.found > gap
        if is_new or at - episode.seen > gap:
            self._episode = None
        return self._episode

    def _confirmed(self, found: Sequence[LoopDetection], at: int, may_ask: bool) -> Plan:
        """Return what follows from a round in which a detector is certain."""
        self._next = max(self._next, at + 1) if self.options.confirm else at + self.options.gap
        if self._episode is not None:
            self._episode.goes_on(at, found)
        if not self.options.confirm or any(each.is_lasting for each in found):
            return Plan(found, found, found)
        if at < self._quiet_until:
            return Plan((), (), ())
        return Plan(found, (), found, asks=may_ask, before_strong=True)

    def _detection(self, window: Window, episode: Episode) -> LoopDetection:
        opinion, concerned = episode.opinion, _concerned(window)
        reason = opinion.reason or "no reason was given"
        found = detection(
            NAME,
            f"A second opinion finds that the run is stuck: {reason}",
            concerned,
            identity=(str(episode.began),),
            refused=(),
            is_certain=False,
            details={
                "tool": concerned[-1].features.tool,
                "count": len(concerned),
                "reason": opinion.reason,
                "confidence": opinion.confidence,
            },
        )
        return replace(found, spacing=SPACING)


def _is_weak(found: Sequence[LoopDetection]) -> bool:
    """Whether detectors found something, but no call that a block could refuse."""
    return bool(found) and all(each.refused == () for each in found)


def _concerned(window: Window) -> List[JudgedCall]:
    """Return the recent unproductive calls, or those of the last round."""
    late = [item for passed in window.rounds[-_CONCERNED_ROUNDS:] for item in passed.evidence]
    return [item for item in late if item.is_unproductive] or window.rounds[-1].evidence


def _saved(opinion: Opinion) -> Dict[str, Any]:
    return {**opinion.to_dict(), "reason": opinion.reason[:_SAVED_REASON]}
