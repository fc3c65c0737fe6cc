"""The second opinion on one run: questions, excerpts and answers."""

from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ...types import ToolCall
from ..detection import LoopDetection
from ..evidence.compared import Result
from ..evidence.window import Window
from ..ladder import Ladder
from ..policy import LoopAction
from ..second_opinion.case_builder import case_of
from ..second_opinion.excerpts import Excerpts
from ..second_opinion.inquiry import Inquiry, Plan
from ..second_opinion.opinion import Opinion
from ..second_opinion.second_opinion import SecondOpinion
from ..settings import DetectorSettings
from ..verdict import GO_ON, LoopVerdict
from .climbing import stronger


@dataclass
class Question:
    """A question that waits for its answer."""

    plan: Plan
    ladder: Ladder
    """As it was before the round."""
    found: str
    """What a detector found and is not certain of."""
    verdict: LoopVerdict = GO_ON
    """The verdict until an answer comes."""
    words: LoopVerdict = GO_ON
    """The verdict on the words of the same reply."""


class Consultation:
    """The questions of a monitor; none without a judge or recorded opinions."""

    def __init__(self, detector: DetectorSettings) -> None:
        self.run_id = ""
        """The run's id, as a judge sees it."""
        self.is_possible = True
        """False if no judge can answer; no question is asked then."""
        self._detector = detector
        self._recorded: Dict[int, Opinion] = {}
        self._recalled: Sequence[Optional[Opinion]] = ()
        self.start()

    def start(self) -> None:
        """Start again, as for another run."""
        self._inquiry: Optional[Inquiry] = None
        self._excerpts: Optional[Excerpts] = None
        self._open: Optional[Question] = None
        options = self._detector.second_opinion
        if options is not None and self.is_possible:
            self._inquiry = Inquiry(options)
            self._excerpts = Excerpts(self._detector.masking)
        elif self._recorded:
            self._inquiry = Inquiry(options or _NO_JUDGE, can_ask=False)
        self.is_held = self._inquiry is not None
        """Whether opinions count in this run."""

    @property
    def opinions(self) -> Dict[int, Opinion]:
        """The opinions that counted so far, by the step after which they were given."""
        return dict(self._inquiry.opinions) if self._inquiry else {}

    def begin(
        self,
        run_id: str = "",
        recorded: Optional[Mapping[int, Opinion]] = None,
        is_possible: bool = True,
    ) -> None:
        """Set what is known of a run before its first call.

        Args:
            run_id: the run's id, as a judge sees it.
            recorded: earlier opinions on this run, by step; they are used before the judge is
                asked.
            is_possible: whether a judge can answer.
        """
        self.run_id, self._recorded = run_id, dict(recorded or {})
        self.is_possible = is_possible
        self.start()

    def with_words(self, verdict: LoopVerdict, words: LoopVerdict) -> LoopVerdict:
        """Return the verdict on a whole reply: the stronger one on its round and on its words.

        An open question comes first, unless the words end the run. The words are then weighed when
        it is answered.
        """
        if self._open is None or words.action.ends_run:
            return stronger(verdict, words)
        self._open.words = words
        return verdict

    def recall(self, known: Sequence[Optional[Opinion]], *, may_ask: bool) -> None:
        """Set, before a round is replayed, the opinion that it got when it was new.

        Args:
            known: the answer, None for no opinion; empty if no judge was asked.
            may_ask: whether a question may be asked now; an answer that is known counts anyway.
        """
        self._recalled = known
        if self._inquiry is not None:
            self._inquiry.can_ask = may_ask

    def shown(self, window: Window) -> List[int]:
        """Return the indices of the calls that a detection after the next round may show."""
        return [] if self._inquiry is None else self._inquiry.shown(window)

    def record(self, window: Window, calls: Sequence[ToolCall], results: Sequence[Result]) -> None:
        """Keep the texts of a round."""
        if self._excerpts is not None:
            first = window.call_count - len(calls)
            self._excerpts.add(first, window.round_count, calls, results)

    def user_message(self) -> None:
        """Take note that the user has spoken."""
        if self._excerpts is not None:
            self._excerpts.user_message()

    def progress(self) -> None:
        """Take note that something has moved."""
        if self._inquiry is not None:
            self._inquiry.progress()

    def review(
        self,
        found: Sequence[LoopDetection],
        suspicion: float,
        window: Window,
        ladder: Ladder,
    ) -> Tuple[Sequence[LoopDetection], Optional[Question]]:
        """Return the findings of a round that hold now, and the question that it raises, if any."""
        inquiry = self._inquiry
        if inquiry is None or not window.rounds:
            return found, None
        known = self._known(window.call_count - 1)
        plan = inquiry.plan(found, suspicion, window, is_answered=bool(known))
        if plan.before_strong:
            action = _action_if_stuck(plan, ladder, window)
            if action in (LoopAction.CONTINUE, LoopAction.NOTIFY):
                return plan.stuck, None
            plan = replace(plan, ends_run=action.ends_run)
        if not plan.asks:
            return plan.unsaid, None
        inquiry.asked(window)
        if known:
            weighed = None if known[0] is None else self._weighed(plan, known[0], window)
            return (plan.unsaid if weighed is None else weighed), None
        return plan.unsaid, Question(plan, deepcopy(ladder), found[0].message if found else "")

    def open(
        self, question: Optional[Question], verdict: LoopVerdict, window: Window
    ) -> LoopVerdict:
        """Attach a question, if there is one; the verdict holds until an answer comes."""
        if question is None:
            return verdict
        excerpts = self._excerpts or Excerpts(self._detector.masking)
        case = case_of(self.run_id, verdict.suspicion, question.found, window, excerpts)
        question.verdict = verdict
        self._open = question
        return replace(verdict, case=case)

    def close(self) -> Optional[Question]:
        """Return the open question, and close it."""
        question, self._open = self._open, None
        return question

    def weigh(
        self, question: Question, opinion: Optional[Opinion], window: Window
    ) -> Optional[Sequence[LoopDetection]]:
        """Return the findings that an opinion leads to; None if it changes nothing."""
        return None if opinion is None else self._weighed(question.plan, opinion, window)

    def acted(self, action: LoopAction, window: Window) -> None:
        """Take note of what was done after a round."""
        if self._inquiry is not None and action.ends_run:
            self._inquiry.run_ended(window)

    def to_dict(self) -> Dict[str, Any]:
        """Return the state as plain JSON; empty without a judge."""
        if self._inquiry is None:
            return {}
        excerpts = self._excerpts.to_list() if self._excerpts else []
        return {"inquiry": self._inquiry.to_dict(), "excerpts": excerpts}

    def load(self, state: Mapping[str, Any]) -> None:
        """Take over a state that `to_dict` gave."""
        if self._inquiry is not None and "inquiry" in state:
            self._inquiry.load(state["inquiry"])
        if self._excerpts is not None:
            self._excerpts.load(state.get("excerpts", ()))

    def _known(self, step: int) -> Sequence[Optional[Opinion]]:
        """Return the answer about a step, if it is known; it is used once."""
        known, self._recalled = self._recalled, ()
        return (self._recorded[step],) if step in self._recorded else known

    def _weighed(
        self, plan: Plan, opinion: Opinion, window: Window
    ) -> Optional[Sequence[LoopDetection]]:
        if self._inquiry is None or not opinion.is_sure:
            return None
        self._inquiry.opinions[window.call_count - 1] = opinion
        return self._inquiry.answered(plan, opinion, window)


def _action_if_stuck(plan: Plan, ladder: Ladder, window: Window) -> LoopAction:
    """Return what would be done if the run is stuck."""
    action, _, _ = deepcopy(ladder).climb(plan.stuck, window.round_count, window.call_count)
    return action


def _no_opinion(_: Any) -> None:
    """Return no opinion."""


_NO_JUDGE = SecondOpinion(_no_opinion)
"""The options for recorded opinions without a judge."""
