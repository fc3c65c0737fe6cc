"""The judge's part in one run: when it is asked, and what follows from its answers.

After each round it is decided in this order:

1. Nothing is found, and the suspicion is below the bound: nothing happens.
2. A detector is certain: its findings hold. With ``confirm``, they go on to the next rules, and
   the judge is asked before calls are refused or the run ends.
3. The answer is known, from a recording or because a host replays the run: it counts.
4. An opinion has found the run not stuck a few rounds ago: findings are dropped.
5. An opinion has found the run stuck, and the suspicion goes on: an *episode*. The loop of that
   opinion climbs on without another question, but before calls are refused or the run ends, the
   judge is asked again. If a detector finds something that can be refused, both agree, and the
   question is not needed.
6. Otherwise the judge is asked, if it is time for a question; if not, the findings hold.

The suspicion counts what the detectors count, and how much the last rounds are like those before.
The judge is not asked about new calls whose results are unknown: there would be nothing to judge.
"""

from copy import deepcopy
from dataclasses import astuple, dataclass, replace
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ...types import ToolCall
from .._detection import LoopDetection
from .._detectors.base import detection
from .._evidence.answered import Result
from .._evidence.asked import Asked
from .._evidence.round import JudgedCall
from .._evidence.window import Window
from .._ladder import Ladder
from .._policy import RANK, LoopAction
from .._second_opinion.case_file import CaseFile
from .._second_opinion.excerpts import Excerpts
from .._second_opinion.likeness import Likeness
from .._second_opinion.opinion import Opinion, SecondOpinion, opinion_of
from .._settings import DetectorSettings
from .._verdict import GO_ON, LoopVerdict, stronger

NAME = "second_opinion"
"""The detector's name in the detection that an opinion becomes."""
_SPACING = 2
"""Rounds that the agent has for doing something else before its loop climbs on."""
_CONCERNED_ROUNDS = 8

Findings = Sequence[LoopDetection]


@dataclass(frozen=True)
class Act:
    """Climb with these findings now."""

    findings: Findings


@dataclass
class Ask:
    """Ask the judge. "Not stuck" drops all findings; "stuck" adds a loop to those found."""

    found: Findings
    """The findings of the detectors; they hold without an answer, or with an uncertain one."""
    ladder: Ladder
    """As it was before the round."""
    case: CaseFile
    verdict: LoopVerdict = GO_ON
    """The verdict until an answer comes."""
    words: LoopVerdict = GO_ON
    """The verdict on the words of the same reply."""


@dataclass
class _Episode:
    """A time in which a run is held to be stuck, from an opinion on."""

    began: int
    """The round that was judged first."""
    seen: int
    """The last round that was suspicious."""
    found: int
    """The last round in which a detector found something, or the first one."""
    judged: int
    """The step after which its opinion was given."""
    ended: int = 0
    """The round in which its opinion ended the run, or 0."""

    def is_over(self, at: int, found: Findings, gap: int) -> bool:
        """Whether it has ended before this round."""
        # A loop that a detector is sure of goes on with what was said before.
        if _is_certain(found):
            return False
        # After its end was called for, a run that goes on may have found another way.
        is_another = self.ended and found and not _can_refuse(found)
        return at - (self.found if is_another else self.seen) > gap


class Inquiry:
    """The questions to the judge of one run, and its opinions.

    Args:
        detector: whose judge is asked, and whose mask is applied.
        run_id: the run's id, as the judge sees it.
        window: the window of the run.
        recorded: earlier opinions on this run, by step; they count before the judge is asked.
        can_ask: whether a question may be asked.
    """

    def __init__(
        self,
        detector: DetectorSettings,
        run_id: str,
        window: Window,
        recorded: Mapping[int, Opinion],
        *,
        can_ask: bool,
    ) -> None:
        options = detector.second_opinion
        self._can_ask = self.has_judge = options is not None and can_ask
        """Whether there is a judge, who needs texts; else at most recorded opinions count."""
        self.counts_opinions = self.has_judge or bool(recorded)
        """Whether opinions count in this run."""
        self.opinions: Dict[int, Opinion] = {}
        """The opinions that counted so far, by the step after which they were given."""
        self.excerpts = Excerpts(detector.masking)
        """The texts that the judge is shown."""
        self._question: Optional[Ask] = None
        # Recorded opinions count by the defaults, and no one is asked.
        self._options = options or SecondOpinion(opinion_of)
        self._run_id, self._window, self._recorded = run_id, window, recorded
        self._recalled: Sequence[Optional[Opinion]] = ()
        self._likeness = Likeness()
        self._asked = self._next = self._quiet_until = 0
        self._episode: Optional[_Episode] = None

    def recall(self, known: Sequence[Optional[Opinion]], *, can_ask: bool) -> None:
        """Set the opinion that a round got when it was new, before the round is replayed."""
        self._recalled = known
        self._can_ask = can_ask and self.has_judge

    def record(
        self, calls: Sequence[ToolCall], results: Sequence[Result], asked: Sequence[Asked]
    ) -> None:
        """Keep the texts of the last round, and compare it with those before."""
        if not self.counts_opinions:
            return
        window, known = self._window, list(zip(calls, results))
        # Plans and notes are like each other in healthy runs, too.
        kept = [pair for pair, each in zip(known, asked) if not each.policy.exempt]
        if kept:
            changes = any(item.is_change for item in window.rounds[-1].evidence)
            self._likeness.add(window.round_count, kept, changes)
        if self.has_judge:
            self.excerpts.add(window, known)

    def said(self, text: str) -> None:
        """Keep what the model said, for a judge."""
        if self.has_judge:
            self.excerpts.said(text)

    def user_message(self, text: str) -> None:
        """Keep what the user said, for a judge."""
        if self.has_judge:
            self.excerpts.user_message(text)

    def progress(self) -> None:
        """Drop the last opinion, because of progress."""
        self._likeness = Likeness()
        self._episode = None
        self._quiet_until = 0

    def run_ended(self) -> None:
        """Pause twice as long after a verdict that ends the run; a recording may go on."""
        at, episode = self._window.round_count, self._episode
        self._next = max(self._next, at + 2 * self._options.gap)
        if episode is not None and episode.judged == self._step:
            episode.ended = at

    def decide(
        self, found: Findings, suspicion: float, lasting: float, ladder: Ladder
    ) -> Union[Act, Ask]:
        """Return what to do about the findings of a round; an answer may be known already.

        `lasting` is the suspicion that held for two rounds, `ladder` the one before the round.
        """
        if not (self.counts_opinions and self._window.rounds):
            return Act(found)
        # What was answered before comes first: a replay must give the same verdicts without asking.
        known, self._recalled = self._recalled, ()
        if self._step in self._recorded:
            known = (self._recorded[self._step],)
        doubt, may_ask = self._likeness.doubt(lasting), bool(known) or self._may_ask()
        held = self._held(found, doubt, ladder, is_known=bool(known))
        if held is not None or not may_ask:
            return Act(found if held is None else held)
        self._asked += 1
        self._next = self._window.round_count + self._options.gap
        if known:
            return Act(self.answered(known[0], found))
        first = found[0] if found else None
        case = self.excerpts.case(self._run_id, max(suspicion, doubt), first, self._window)
        # An answer leads to other findings, which must climb from where the loops stood.
        self._question = Ask(found, deepcopy(ladder), case)
        return self._question

    def answered(self, opinion: Optional[Opinion], found: Findings) -> Findings:
        """Return the findings after the answer to an `Ask`; one that is uncertain changes none."""
        if opinion is None or opinion.confidence < self._options.confidence:
            return found
        at = self._window.round_count
        self.opinions = {**self.opinions, self._step: opinion}
        if not opinion.stuck:
            self._episode = None
            # The suspicion falls slowly, so without a pause the same question would follow at once.
            self._quiet_until = self._next = at + self._options.gap
            return ()
        # The judge was asked to confirm a finding, which needs no loop beside it.
        if _is_certain(found):
            return found
        self._episode = self._episode or _Episode(at, at, at, self._step)
        self._episode.judged = self._step
        return [self._loop(self._episode), *found]

    def with_words(self, verdict: LoopVerdict, words: LoopVerdict) -> LoopVerdict:
        """Return the verdict on a whole reply; see `LoopMonitor.with_words`."""
        if self._question is None or words.action.ends_run:
            return stronger(verdict, words)
        self._question.words = words
        return verdict

    def close(self) -> Optional[Ask]:
        """Return the open question, and close it."""
        question, self._question = self._question, None
        return question

    def shown(self) -> List[int]:
        """Return the indices of the calls that a detection may show, unless later ones come."""
        return [item.index for item in self._concerned()] if self.counts_opinions else []

    def to_dict(self) -> Dict[str, Any]:
        """Return the state as plain JSON; empty if opinions do not count in this run."""
        if not self.counts_opinions:
            return {}
        inquiry = {
            "asked": [self._asked, self._next, self._quiet_until],
            "episode": self._episode and list(astuple(self._episode)),
            "opinions": [[step, each.to_dict()] for step, each in self.opinions.items()],
            "likeness": self._likeness.to_dict(),
        }
        return {"inquiry": inquiry, "excerpts": self.excerpts.to_dict()}

    def load(self, snapshot: Mapping[str, Any]) -> None:
        """Take over a state that `to_dict` gave."""
        if not self.counts_opinions or "inquiry" not in snapshot:
            return
        state = snapshot["inquiry"]
        self._asked, self._next, self._quiet_until = map(int, state["asked"])
        self.opinions.update((int(at), Opinion.from_dict(each)) for at, each in state["opinions"])
        if state["episode"] is not None:
            self._episode = _Episode(*map(int, state["episode"]))
            if self._episode.judged not in self.opinions:
                raise ValueError("an episode without an opinion")
        self._likeness.load(state["likeness"])
        self.excerpts.load(snapshot["excerpts"])

    @property
    def parts(self) -> Tuple[object, ...]:
        """The objects that a round changes; none if opinions do not count in this run."""
        episode = (self._episode,) if self._episode else ()
        return (self, self.excerpts, self._likeness, *episode) if self.counts_opinions else ()

    @property
    def _step(self) -> int:
        return self._window.call_count - 1

    def _held(
        self, found: Findings, doubt: float, ladder: Ladder, *, is_known: bool
    ) -> Optional[Findings]:
        """Return the findings that hold without a question, or None if they need one."""
        at, options, episode = self._window.round_count, self._options, self._episode
        is_certain = _is_certain(found)
        if episode is not None and episode.is_over(at, found, options.gap):
            episode = self._episode = None
        # An answer that is known counts below the bound, too, or a replay would lose it.
        if not (found or is_known) and doubt < options.suspicion:
            return ()
        if episode is not None:
            episode.seen, episode.found = at, at if found else episode.found
        # A budget is a number that the user has set, so no judge is asked about it.
        if is_certain and not (options.confirm and not any(each.is_lasting for each in found)):
            self._next = at + options.gap
            return found
        if is_known:
            return None
        if episode is None and at < self._quiet_until:
            return ()
        if is_certain:
            return self._if_mild(found, ladder)
        if episode is None:
            return None
        if episode.ended:
            return found  # it is said already
        climbing = [self._loop(episode), *found]
        return climbing if _can_refuse(found) else self._if_mild(climbing, ladder)

    def _if_mild(self, found: Findings, ladder: Ladder) -> Optional[Findings]:
        # The ladder itself must not move before it is known whether the findings hold.
        action, _, _ = deepcopy(ladder).climb(found, self._window.round_count, self._step + 1)
        return found if RANK[action] <= RANK[LoopAction.NOTIFY] else None

    def _may_ask(self) -> bool:
        at, episode = self._window.round_count, self._episode
        if not self._can_ask or self._asked >= self._options.limit:
            return False
        # The question before the end of a run is asked at once, and after no answer, later.
        is_time = at >= self._next or (episode is not None and at > episode.began)
        # Of new calls with unknown answers there is nothing to tell work from a loop by.
        return is_time and any(
            item.result is not None or self._window.occurrences.came(item.features) > 1
            for item in self._window.rounds[-1].evidence
        )

    def _loop(self, episode: _Episode) -> LoopDetection:
        """Return the loop that the opinion of an episode has found."""
        opinion, concerned = self.opinions[episode.judged], self._concerned()
        said = opinion.reason or "no reason was given"
        found = detection(
            NAME,
            f"A second opinion finds that the run is stuck: {said}",
            concerned,
            # Another episode is another loop, even with the same calls.
            identity=(str(episode.began),),
            # The judge spoke about the run, and not about single calls.
            refused=(),
            is_certain=False,
            details={
                "tool": concerned[-1].tool,
                "count": len(concerned),
                "reason": opinion.reason,
                "confidence": opinion.confidence,
            },
        )
        return replace(found, spacing=_SPACING)

    def _concerned(self) -> List[JudgedCall]:
        """Return the recent unproductive calls, or those of the last round."""
        rounds = [passed.evidence for passed in self._window.rounds[-_CONCERNED_ROUNDS:]]
        late = [item for evidence in rounds for item in evidence if item.is_unproductive]
        return late or (rounds[-1] if rounds else [])


def _is_certain(found: Findings) -> bool:
    return any(each.is_certain for each in found)


def _can_refuse(found: Findings) -> bool:
    """Whether detectors found calls that a block could refuse."""
    return any(each.refused != () for each in found)
