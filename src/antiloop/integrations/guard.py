"""What adapters share that see a conversation: it is replayed and judged."""

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Iterable, List, Optional, Sequence

from ..formats import History, TextMessage, rounds_of
from ..formats.text_message import without_thoughts
from ..loop_detection import (
    CallLimitDetector,
    LoopAction,
    LoopDetector,
    LoopMonitor,
    LoopVerdict,
    Opinion,
)
from ..loop_detection.run.listeners import log
from ..loop_detection.text.shortening import visible
from ..loop_detection.threshold import check_flag
from ..loop_detection.verdict import GO_ON
from ..stability import beta
from ..types import Role, ToolCall
from .shared.known_opinions import KnownOpinions
from .shared.lookout import Lookout

if TYPE_CHECKING:
    from ..agent import AgentObserver

_KEPT_WINDOWS = 4
_HEARD = 12
"""Replies whose words are replayed: to look through long texts again takes time."""


@beta
class Guard(Lookout):
    """Judge a conversation that a framework keeps.

    The guard keeps no state of a run. It makes the monitor from the conversation each time, so a
    run that another process resumes gets the verdicts of an unbroken one. It replays only the last
    calls, four to six windows full, so a step of a long run costs no more than one of a short run.
    A `CallLimitDetector` counts all calls, so all are replayed for it. The guard remembers in this
    process what a judge said; another process asks again.

    Args:
        across_turns: judge the whole conversation; by default, what follows the user's last
            message.
        detector, ignore, observers: as those of `Lookout`.
    """

    can_ask = True

    def __init__(
        self,
        detector: Optional[LoopDetector] = None,
        *,
        ignore: Iterable[str] = (),
        observers: "Iterable[AgentObserver]" = (),
        across_turns: bool = False,
    ) -> None:
        super().__init__(detector, ignore=ignore, observers=observers)
        check_flag("across_turns", across_turns)
        self.across_turns = across_turns
        self._opinions = KnownOpinions()

    def monitor(self, run_id: str = "") -> LoopMonitor:
        """Make the monitor of a conversation; earlier rounds are shown to it again, unlogged."""
        monitor = super().monitor(run_id)
        monitor.listeners.logs = False
        return monitor

    def tell(self, verdict: LoopVerdict, run_id: str) -> None:
        """Notify the observers of the verdict on the last round, and log it."""
        super().tell(verdict, run_id)
        verdict = verdict.reported
        if self.detector.log_verdicts and verdict.action is not LoopAction.CONTINUE:
            log(verdict)

    def recent(self, messages: Sequence[Any]) -> Sequence[Any]:
        """Return the messages that can matter, so that a long conversation is not read as a whole.

        A round takes a reply and a message for each result. The first of them stays the same for a
        window of rounds.
        """
        return messages[_skipped(len(messages), 2 * self._kept, 2 * self.detector.window) :]

    def replay(
        self, monitor: LoopMonitor, history: History, *, may_ask: bool = False
    ) -> LoopVerdict:
        """Show a monitor these calls, and return its verdict on the last round, without observers.

        The monitor starts again after a user message. What a judge said about earlier rounds
        counts again.

        Args:
            monitor: that of the run.
            history: the calls.
            may_ask: whether the verdict on the last round may ask for a second opinion.
        """
        verdict = GO_ON
        if history.turn_starts and not self.across_turns:
            monitor.reset()
        replies = self._judged_replies(history)
        for together, known in zip(replies, self._opinions.about(replies)):
            is_last = together is replies[-1]
            monitor.consultation.recall(known, may_ask=may_ask and self.can_ask and is_last)
            verdict = self.record(monitor, together)
        return verdict

    def replayed(self, history: History, run_id: str = "") -> LoopMonitor:
        """Make a monitor that has seen these calls."""
        monitor = self.monitor(run_id)
        self.replay(monitor, history)
        return monitor

    def record(self, monitor: LoopMonitor, together: History) -> LoopVerdict:
        """Pass one reply of the model to a monitor: what it said, and the round of its calls.

        An id may occur in many rounds if a model is replayed, and the count of messages starts
        again if old ones are removed; so the number of earlier calls identifies a round.
        """
        words = heard(monitor, together.messages)
        if not together.calls:
            return words
        calls = [replace(call, round=monitor.call_count) for call in together.calls]
        verdict = monitor.after(calls, together.results)
        return monitor.consultation.with_words(verdict, words)

    def judge(self, history: History, run_id: str = "") -> LoopVerdict:
        """Return the verdict on the last round of this history, and notify the observers.

        Ask once a round, when its results are in and the model has not been asked again. It waits
        for a second opinion where one is asked for.
        """
        verdict = self.verdict_on(self.monitor(run_id), history, run_id)
        if self._judged_replies(history):
            self.tell(verdict, run_id)
        return verdict

    async def ajudge(self, history: History, run_id: str = "") -> LoopVerdict:
        """Do what `judge` does, and let the event loop go on meanwhile."""
        verdict = await self.averdict_on(self.monitor(run_id), history, run_id)
        if self._judged_replies(history):
            self.tell(verdict, run_id)
        return verdict

    def verdict_on(self, monitor: LoopMonitor, history: History, run_id: str) -> LoopVerdict:
        """Show a new monitor a history, and return the final verdict, without observers."""
        verdict = self.replay(monitor, history, may_ask=True)
        opinion = self.opinion_on(verdict.case, run_id)
        return self._answered(monitor, verdict, opinion, history)

    async def averdict_on(self, monitor: LoopMonitor, history: History, run_id: str) -> LoopVerdict:
        """Do what `verdict_on` does, and let the event loop go on meanwhile."""
        verdict = self.replay(monitor, history, may_ask=True)
        opinion = await self.aopinion_on(verdict.case, run_id)
        return self._answered(monitor, verdict, opinion, history)

    def _answered(
        self,
        monitor: LoopMonitor,
        verdict: LoopVerdict,
        opinion: Optional[Opinion],
        history: History,
    ) -> LoopVerdict:
        """Return the final verdict, and keep the opinion for when this round is replayed."""
        if verdict.case is None:
            return verdict
        self._opinions.note(self._judged_replies(history), opinion)
        return monitor.answer(opinion)

    def before(self, history: History, call: ToolCall) -> LoopVerdict:
        """Return whether a call may run: `block` with the text of the refusal, or go on.

        Args:
            history: what came before; where the round of the call is its last round already, that
                round does not count: none of it has run.
            call: which call; its id finds its round.
        """
        return self.replayed(without_round_of(call, history)).before(call)

    def skipped_calls(self, count: int) -> int:
        """Return how many of the first calls of a turn are not replayed, or a few less.

        It grows by a window at a time, so mostly the replay of a turn that goes on begins where it
        began before.

        Args:
            count: the calls of the turn.
        """
        return _skipped(count, self._kept + self.detector.window, self.detector.window)

    @property
    def _kept(self) -> int:
        """How many calls are replayed at least; all of them where they are counted."""
        if any(isinstance(each, CallLimitDetector) for each in self.detector.detectors):
            return sys.maxsize
        return _KEPT_WINDOWS * self.detector.window

    def _judged_replies(self, history: History) -> List[History]:
        """Return the last replies, as they are replayed; words only of the very last."""
        if history.turn_starts and not self.across_turns:
            history = history.last_turn()
        replies: List[History] = []
        calls = len(history) - self.skipped_calls(len(history))
        for together in reversed(list(history.replies())):
            is_heard = len(replies) < _HEARD
            replies.append(together if is_heard else replace(together, messages=()))
            calls -= len(together)
            if calls <= 0 and together.calls:
                break
        return replies[::-1]


def _skipped(count: int, kept: int, step: int) -> int:
    """Return how many of the first things are left out: a multiple of `step`."""
    return max(0, count - kept) // step * step


def heard(monitor: LoopMonitor, messages: Sequence[TextMessage]) -> LoopVerdict:
    """Pass what was said before a round to a monitor, and return its verdict on the last reply."""
    verdict = GO_ON
    for each in without_thoughts(messages):
        if each.role is Role.ASSISTANT:
            verdict = monitor.said(each.text)
        elif each.role is Role.USER:
            monitor.speech.moved()
            verdict = GO_ON
    return verdict


def without_round_of(call: ToolCall, history: History) -> History:
    """Cut a history before the round of a pending call, if that is its last round."""
    if not len(history):
        return history
    start, stop = list(rounds_of(history.calls))[-1]
    pending = zip(history.calls[start:stop], history.results[start:stop])
    # Ids may be those of the round before, or there are none: a call that ran has a result.
    if not any(result is None and each.id in (call.id, None) for each, result in pending):
        return history
    return history.until(start)


def stopped(verdict: LoopVerdict) -> str:
    """Return why a run has ended, as its last answer."""
    return f"Stopped: the agent was stuck in a loop. {visible(reason_of(verdict))}".rstrip()


def reason_of(verdict: LoopVerdict) -> str:
    """Return what was found; empty text for nothing."""
    return verdict.detection.message if verdict.detection else ""
