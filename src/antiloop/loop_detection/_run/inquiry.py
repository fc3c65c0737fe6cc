"""The judge's part in one run: when it is asked, and what follows from its answers.

After each round it is decided in this order:

1. A detector is certain: its findings hold, and no question is asked. With ``confirm``, the judge
   is asked before calls are refused or the run ends.
2. The suspicion is below the bound, and nothing is found: nothing happens.
3. An opinion has found the run stuck, and the suspicion goes on: an *episode*. The loop of that
   opinion climbs on without another question, but before calls are refused or the run ends, the
   judge is asked again. If a detector finds something that can be refused, both agree, and the
   question is not needed.
4. An opinion has found the run not stuck a few rounds ago: uncertain findings are dropped.
5. Otherwise the judge is asked, if it is time for a question.

The suspicion counts what the detectors count, and how much the last rounds are like those before.
The judge is not asked about new calls whose results are unknown: there would be nothing to judge.
"""

from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from ..._text.masking import Masking
from ...types import ToolCall
from .._detection import LoopDetection
from .._detectors.base import detection
from .._evidence.compared import Result
from .._evidence.round import JudgedCall
from .._evidence.window import Window
from .._ladder import Ladder
from .._policy import RANK, LoopAction
from .._second_opinion.case_builder import case_of, shows_enough
from .._second_opinion.case_file import CaseFile
from .._second_opinion.excerpts import Excerpts
from .._second_opinion.likeness import Likeness
from .._second_opinion.opinion import Opinion, SecondOpinion
from .._verdict import GO_ON, LoopVerdict, stronger

NAME = "second_opinion"
"""The detector's name in the detection that an opinion becomes."""
_SPACING = 2
"""Rounds that the agent has for doing something else before its loop climbs on."""
_CONCERNED_ROUNDS = 8
_SAVED_REASON = 100


@dataclass(frozen=True)
class Act:
    """Climb with these findings now."""

    findings: Sequence[LoopDetection]


@dataclass(frozen=True)
class Ask:
    """Ask the judge. "Not stuck" drops all findings; "stuck" adds a loop to those found."""

    found: Sequence[LoopDetection]
    """The findings of the detectors."""
    meanwhile: Sequence[LoopDetection]
    """The findings that hold without an answer, or with an uncertain one."""
    ends_run: bool = False
    """Whether the run ends if it is stuck."""


@dataclass
class _Question:
    """A question that waits for its answer."""

    ask: Ask
    ladder: Ladder
    """As it was before the round."""
    verdict: LoopVerdict
    """The verdict until an answer comes."""
    case: CaseFile
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
    ends_run: bool
    """Whether it was said again before the end of the run."""
    opinion: Opinion

    def goes_on(self, at: int, found: Sequence[LoopDetection]) -> None:
        """Take note of a further suspicious round."""
        self.seen = at
        self.found = at if found else self.found

    def loop(self, window: Window) -> LoopDetection:
        """Return the loop that the opinion has found."""
        reason, concerned = self.opinion.reason, _concerned_in(window)
        found = detection(
            NAME,
            f"A second opinion finds that the run is stuck: {reason or 'no reason was given'}",
            concerned,
            # Another episode is another loop, even with the same calls.
            identity=(str(self.began),),
            # The judge spoke about the run, and not about single calls.
            refused=(),
            is_certain=False,
            details={
                "tool": concerned[-1].features.tool,
                "count": len(concerned),
                "reason": reason,
                "confidence": self.opinion.confidence,
            },
        )
        return replace(found, spacing=_SPACING)


class Inquiry:
    """The questions to the judge of one run, and its opinions.

    Args:
        options: the judge, and when to ask it; None if there is none.
        masking: what of calls and results may be shown.
        run_id: the run's id, as the judge sees it.
        recorded: earlier opinions on this run, by step; they count before the judge is asked.
        can_ask: whether a question may be asked.
    """

    def __init__(
        self,
        options: Optional[SecondOpinion],
        masking: Masking,
        run_id: str,
        recorded: Mapping[int, Opinion],
        *,
        can_ask: bool,
    ) -> None:
        self._can_ask = self._has_judge = options is not None and can_ask
        # A replay without a judge follows the recorded opinions, and needs no texts to show.
        self.counts_opinions = self._has_judge or bool(recorded)
        """Whether opinions count in this run."""
        self.opinions: Dict[int, Opinion] = {}
        """The opinions that counted so far, by the step after which they were given."""
        self._question: Optional[_Question] = None
        self._options = options or SecondOpinion(_no_opinion)
        self._run_id = run_id
        self._recorded = recorded
        self._recalled: Sequence[Optional[Opinion]] = ()
        self._excerpts = Excerpts(masking)
        self._likeness = Likeness()
        self._doubt = 0.0
        self._asked = self._next = self._quiet_until = 0
        self._episode: Optional[_Episode] = None

    def recall(self, known: Sequence[Optional[Opinion]], *, can_ask: bool) -> None:
        """Set the opinion that a round got when it was new, before the round is replayed."""
        self._recalled = known
        self._can_ask = can_ask and self._has_judge

    def with_words(self, verdict: LoopVerdict, words: LoopVerdict) -> LoopVerdict:
        """Return the verdict on a whole reply; see `LoopMonitor.with_words`."""
        if self._question is None or words.action.ends_run:
            return stronger(verdict, words)
        self._question.words = words
        return verdict

    def record(self, window: Window, calls: Sequence[ToolCall], results: Sequence[Result]) -> None:
        """Keep the texts of a round, and compare it with those before."""
        known = zip_longest(calls, results)
        # Plans and notes are like each other in healthy runs, too.
        kept = [pair for pair in known if not window.policy(pair[0].tool_name).exempt]
        if kept and window.rounds:
            changes = any(item.is_change for item in window.rounds[-1].evidence)
            self._likeness.add(window.round_count, kept, changes)
        if self._has_judge:
            first = window.call_count - len(calls)
            last = window.rounds[-1].evidence if window.rounds else []
            # A tool may report a failure as a success; unmarked, readers took it for one.
            failed = {item.index for item in last if item.features.outcome.is_failure}
            self._excerpts.add(first, window.round_count, calls, results, failed)

    def user_message(self, text: str) -> None:
        """Take note that the user has spoken."""
        if self._has_judge:
            self._excerpts.user_message(text)

    def said(self, text: str) -> None:
        """Take note of what the model has said."""
        if self._has_judge:
            self._excerpts.said(text)

    def progress(self) -> None:
        """Drop the last opinion, because of progress."""
        self._likeness.clear()
        self._episode = None
        self._quiet_until = 0

    def run_ended(self, window: Window) -> None:
        """Pause twice as long after a verdict that ends the run; a recording may go on."""
        self._next = max(self._next, window.round_count + 2 * self._options.gap)

    def decide(
        self, found: Sequence[LoopDetection], suspicion: float, window: Window, ladder: Ladder
    ) -> Union[Act, Ask]:
        """Return what to do after a round; a question about it may be answered by the records."""
        if not (self.counts_opinions and window.rounds):
            return Act(found)
        # What was answered before comes first: a replay must give the same verdicts without asking.
        known = self._known(window.call_count - 1)
        self._doubt = self._likeness.doubt(suspicion)
        decision = self._decided(found, window, ladder, bool(known))
        if isinstance(decision, Act):
            return decision
        self._asked += 1
        self._next = window.round_count + self._options.gap
        if not known:
            return decision
        findings = self.answered(decision, known[0], window)
        return Act(decision.meanwhile if findings is None else findings)

    def answered(
        self, ask: Ask, opinion: Optional[Opinion], window: Window
    ) -> Optional[Sequence[LoopDetection]]:
        """Return the findings after an answer; None if it changes nothing."""
        if opinion is None or opinion.confidence < self._options.confidence:
            return None
        self.opinions[window.call_count - 1] = opinion
        at, episode = window.round_count, self._going_on(window.round_count)
        if not opinion.stuck:
            self._episode = None
            # The suspicion falls slowly, so without a pause the same question would follow at once.
            self._quiet_until = self._next = at + self._options.gap
            return ()
        # The judge was asked to confirm a finding, which needs no loop beside it.
        if any(each.is_certain for each in ask.found):
            return ask.found
        if episode is None:
            episode = self._episode = _Episode(at, at, at, False, opinion)
        else:
            episode.opinion, episode.ends_run = opinion, ask.ends_run
        return [episode.loop(window), *ask.found]

    def open(self, ask: Ask, verdict: LoopVerdict, ladder: Ladder, window: Window) -> LoopVerdict:
        """Attach a question to the verdict, which holds until an answer comes."""
        found = ask.found[0] if ask.found else None
        suspicion = max(verdict.suspicion, self._doubt)
        case = case_of(self._run_id, suspicion, found, window, self._excerpts)
        self._question = _Question(ask, ladder, verdict, case)
        return replace(verdict, case=case)

    def close(self) -> Optional[_Question]:
        """Return the open question, and close it."""
        question, self._question = self._question, None
        return question

    def shown(self, window: Window) -> List[int]:
        """Return the indices of the calls that a detection may show, unless later ones come.

        It shows the last one, which may lie many calls back. When a round leaves the window in
        part, any of its calls may be left.
        """
        if not self.counts_opinions or not window.rounds:
            return []
        concerned = _concerned_in(window)
        last = next(each for each in reversed(window.rounds) if concerned[-1] in each.evidence)
        return [item.index for item in last.evidence if item in concerned]

    def to_dict(self) -> Dict[str, Any]:
        """Return the state as plain JSON; empty if opinions do not count in this run."""
        if not self.counts_opinions:
            return {}
        one = self._episode
        inquiry = {
            "asked": [self._asked, self._next, self._quiet_until],
            "episode": one and [one.began, one.seen, one.found, one.ends_run, _saved(one.opinion)],
            "opinions": [[step, _saved(each)] for step, each in self.opinions.items()],
            "likeness": self._likeness.to_dict(),
        }
        return {"inquiry": inquiry, "excerpts": self._excerpts.to_dict() if self._has_judge else {}}

    def load(self, snapshot: Mapping[str, Any]) -> None:
        """Take over a state that `to_dict` gave."""
        if self._has_judge and snapshot.get("excerpts"):
            self._excerpts.load(snapshot["excerpts"])
        if not self.counts_opinions or "inquiry" not in snapshot:
            return
        state = snapshot["inquiry"]
        self._asked, self._next, self._quiet_until = (int(number) for number in state["asked"])
        if state["episode"] is not None:
            began, seen, found, ends_run, opinion = state["episode"]
            said = (bool(ends_run), Opinion.from_dict(opinion))
            self._episode = _Episode(int(began), int(seen), int(found), *said)
        self._likeness.load(state["likeness"])
        for step, opinion in state["opinions"]:
            self.opinions[int(step)] = Opinion.from_dict(opinion)

    def _known(self, step: int) -> Sequence[Optional[Opinion]]:
        """Return the answer about a step, if it is known; it is used once."""
        known, self._recalled = self._recalled, ()
        return (self._recorded[step],) if step in self._recorded else known

    def _decided(
        self, found: Sequence[LoopDetection], window: Window, ladder: Ladder, is_answered: bool
    ) -> Union[Act, Ask]:
        at = window.round_count
        may_ask = is_answered or (self._may_ask(at) and shows_enough(window))
        if any(each.is_certain for each in found):
            return self._confirmed(found, window, ladder, may_ask)
        episode = self._going_on(at, found)
        # An answer that is known counts below the bound, too, or a replay would lose it.
        if not (found or is_answered) and self._doubt < self._options.suspicion:
            return Act(found)
        if episode is None:
            if at < self._quiet_until and not is_answered:
                return Act(())
            return Ask(found, found) if may_ask else Act(found)
        episode.goes_on(at, found)
        if episode.ends_run:
            return Act(found)  # it is said already
        both = [episode.loop(window), *found]
        if found and not _is_weak(found):
            return Ask(found, both) if is_answered else Act(both)
        action = _next_action(ladder, both, window)
        if not _is_strong(action):
            return Act(both)
        return Ask(found, found, action.ends_run) if may_ask else Act(found)

    def _confirmed(
        self, found: Sequence[LoopDetection], window: Window, ladder: Ladder, may_ask: bool
    ) -> Union[Act, Ask]:
        """Decide about a round in which a detector is certain."""
        at, options = window.round_count, self._options
        self._next = max(self._next, at + 1) if options.confirm else at + options.gap
        if self._episode is not None:
            self._episode.goes_on(at, found)
        # A budget is a number that the user has set, so no judge is asked about it.
        if not options.confirm or any(each.is_lasting for each in found):
            return Act(found)
        if at < self._quiet_until:
            return Act(())
        action = _next_action(ladder, found, window)
        return Ask(found, found, action.ends_run) if may_ask and _is_strong(action) else Act(found)

    def _may_ask(self, at: int) -> bool:
        has_questions = self._can_ask and self._asked < self._options.limit
        # The question before the end of a run is asked at once, and after no answer, later.
        is_time = at >= self._next or (self._episode is not None and at > self._episode.began)
        return has_questions and is_time

    def _going_on(self, at: int, found: Sequence[LoopDetection] = ()) -> Optional[_Episode]:
        """Return the episode of a round, if it has not ended before."""
        episode, gap = self._episode, self._options.gap
        if episode is not None:
            # After its end was called for, a run that goes on may have found another way.
            is_new = episode.ends_run and _is_weak(found) and at - episode.found > gap
            if is_new or at - episode.seen > gap:
                self._episode = None
        return self._episode


def _concerned_in(window: Window) -> List[JudgedCall]:
    """Return the recent unproductive calls, or those of the last round."""
    late = [item for passed in window.rounds[-_CONCERNED_ROUNDS:] for item in passed.evidence]
    return [item for item in late if item.is_unproductive] or window.rounds[-1].evidence


def _saved(opinion: Opinion) -> Dict[str, Any]:
    """Return an opinion as plain JSON, with a short reason."""
    return {**opinion.to_dict(), "reason": opinion.reason[:_SAVED_REASON]}


def _next_action(ladder: Ladder, found: Sequence[LoopDetection], window: Window) -> LoopAction:
    """Return the action that the findings would lead to."""
    # The ladder itself must not move before it is known whether the findings hold.
    action, _, _ = deepcopy(ladder).climb(found, window.round_count, window.call_count)
    return action


def _is_strong(action: LoopAction) -> bool:
    """Whether calls would be refused, or the run ended."""
    return RANK[action] > RANK[LoopAction.NOTIFY]


def _is_weak(found: Sequence[LoopDetection]) -> bool:
    """Whether detectors found something, but no call that a block could refuse."""
    return bool(found) and all(each.refused == () for each in found)


def _no_opinion(_: Any) -> None:
    """Return no opinion: the judge of a run that has only recorded ones; it can be pickled."""
