"""The base of adapters that see a conversation: it is replayed and judged."""

import json
import sys
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Iterable, Iterator, List, Optional, Sequence, Tuple

from .._checks import check_flag
from .._latest import Latest
from .._text.canonical import canonical_json, plain
from .._text.shortening import visible
from ..formats import History, TextMessage, rounds_of
from ..formats._internal import has_forgotten, without_thoughts
from ..loop_detection import (
    CallLimitDetector,
    LoopAction,
    LoopDetector,
    LoopMonitor,
    LoopVerdict,
    Opinion,
)
from ..loop_detection._internal import REFUSED_MARKER
from ..stability import beta
from ..types import Role, ToolCall
from ._lookout import Lookout

if TYPE_CHECKING:
    from ..agent import AgentObserver

__all__ = ["WITHDRAWN", "Guard", "stopped"]

WITHDRAWN = f"{REFUSED_MARKER} the tools are withdrawn."
"""The result of a call that a model makes instead of saying its last words."""

_KEPT_WINDOWS = 4
_KEPT_OPINIONS = 1_000
_JUDGED_ROUNDS = 20
_HEARD = 12
"""Replies whose words are replayed: to look through long texts again takes time."""
_LONGEST = 1 << 16
"""Characters of a reply that are looked at: its end, as one that repeats itself goes on with it."""


@beta
class Guard(Lookout):
    """Judge a conversation that a framework keeps.

    The guard keeps no state of a run. It makes the monitor from the conversation each time, so a
    run that another process resumes gets the verdicts of an unbroken one. It replays only the last
    calls, four to six windows full, so a step of a long run costs no more than one of a short run.
    A `CallLimitDetector` counts all calls, so all are replayed for it. The guard remembers in this
    process what a judge said; another process asks again.

    Args:
        across_turns: a message of the user is not progress; by default, what came before it is not
            evidence any more, and each loop keeps its place on the ladder.
        detector, ignore, observers: as those of `Lookout`.
    """

    can_ask = True
    logs_verdicts = False  # earlier rounds are shown again each time; `tell` logs the last one

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
        self._opinions = _KnownOpinions()
        self._past: Optional[Tuple[Any, LoopMonitor]] = None
        """The history before the latest pending call, which is that of its siblings, too."""

    def tell(
        self, verdict: LoopVerdict, run_id: str, monitor: Optional[LoopMonitor] = None
    ) -> None:
        """Notify the observers of the last reply and the verdict on it, and log the verdict."""
        super().tell(verdict, run_id, monitor)
        if self.detector.log_verdicts and verdict.decision.action is not LoopAction.CONTINUE:
            verdict.log()

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

        Opinions of a judge on earlier rounds count again.

        Args:
            monitor: that of the run.
            history: the calls.
            may_ask: whether the verdict on the last round may ask for a second opinion.
        """
        verdict = LoopVerdict()
        for each in self.verdicts(monitor, history, may_ask=may_ask):
            verdict = each
        return verdict

    def verdicts(
        self, monitor: LoopMonitor, history: History, *, may_ask: bool = False
    ) -> Iterator[LoopVerdict]:
        """Do what `replay` does, and yield the verdict on each reply of the last turn."""
        replies = self._judged_replies(history)
        earlier = len(replies) - self._since_the_user_spoke(replies)
        for at, (together, known) in enumerate(zip(replies, self._opinions.about(replies))):
            is_last = together is replies[-1]
            monitor.recall(known, can_ask=may_ask and self.can_ask and is_last)
            verdict = self.record(monitor, together)
            if at >= earlier:
                yield verdict

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
        is_progress = not self.across_turns
        if together.turn_starts and not any(map(_is_of_user, together.messages)):
            monitor.user_message(is_progress=is_progress)  # nothing is known of its words
        words = heard(monitor, together.messages, is_progress=is_progress)
        if not together.calls:
            return words
        calls = [replace(call, round=monitor.call_count) for call in together.calls]
        verdict = monitor.after(calls, together.results)
        return monitor.with_words(verdict, words)

    def judge(self, history: History, run_id: str = "") -> LoopVerdict:
        """Return the verdict on the last round of this history, and notify the observers.

        Ask once a round, when its results are in and the model has not been asked again. It waits
        for a second opinion where one is asked for.
        """
        monitor = self.monitor(run_id)
        verdict = self.verdict_on(monitor, history, run_id)
        if self._since_the_user_spoke(self._judged_replies(history)):
            self.tell(verdict, run_id, monitor)
        return verdict

    async def ajudge(self, history: History, run_id: str = "") -> LoopVerdict:
        """Do what `judge` does, and let the event loop go on meanwhile."""
        monitor = self.monitor(run_id)
        verdict = await self.averdict_on(monitor, history, run_id)
        if self._since_the_user_spoke(self._judged_replies(history)):
            self.tell(verdict, run_id, monitor)
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
        self._past = None
        return monitor.answer(opinion)

    def before(self, history: History, call: ToolCall) -> LoopVerdict:
        """Return whether a call may run: `block` with the text of the refusal, or go on.

        Args:
            history: what came before; where the round of the call is its last round already, that
                round does not count: none of it has run.
            call: which call; its id finds its round.
        """
        return self._monitor_after(without_round_of(call, history)).before(call)

    def _monitor_after(self, past: History) -> LoopMonitor:
        """Return the monitor of a run so far, to ask it about calls alone."""
        known, key = self._past, _key_of(past)
        if known is None or known[0] != key:
            known = self._past = key, self.replayed(past)
        return known[1]

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
        """The least number of calls that are replayed; all of them where they are counted."""
        if any(isinstance(each, CallLimitDetector) for each in self.detector.detectors):
            return sys.maxsize
        return _KEPT_WINDOWS * self.detector.window

    def _judged_replies(self, history: History) -> List[History]:
        """Return the last replies, as they are replayed; words only of the very last."""
        replies: List[History] = []
        calls = len(history) - self.skipped_calls(len(history))
        for together in reversed(list(history.replies())):
            is_heard = len(replies) < _HEARD
            replies.append(together if is_heard else _without_words(together))
            calls -= len(together)
            if calls <= 0 and together.calls:
                break
        return replies[::-1]

    def _since_the_user_spoke(self, replies: Sequence[History]) -> int:
        """Count the replies at the end that belong to the last turn; all where turns are one."""
        if self.across_turns:
            return len(replies)
        if replies and not _is_reply(replies[-1]):
            return 0
        count = 0
        for together in reversed(replies):
            count += 1
            if together.turn_starts:
                break
        return count


def _is_of_user(message: TextMessage) -> bool:
    return message.role is Role.USER


def _is_reply(together: History) -> bool:
    """Whether the model spoke or acted last; else only the user did."""
    said = [each for each in together.messages if not each.is_summary]
    return bool(together.calls or (said and said[-1].role is Role.ASSISTANT))


def _without_words(together: History) -> History:
    """Leave out what the model said, but for what says that it no longer sees the rest."""
    kept = (each for each in together.messages if each.is_summary or _is_of_user(each))
    return replace(together, messages=tuple(kept))


def _skipped(count: int, kept: int, step: int) -> int:
    """Return how many of the first things are left out: a multiple of `step`."""
    return max(0, count - kept) // step * step


def heard(
    monitor: LoopMonitor, messages: Sequence[TextMessage], *, is_progress: bool = False
) -> LoopVerdict:
    """Pass what was said before a round to a monitor, and return its verdict on the last reply.

    Args:
        monitor: that of the run.
        messages: what was said.
        is_progress: whether the user's words are.
    """
    verdict = LoopVerdict()
    for each in without_thoughts(messages):
        if each.is_summary:
            monitor.forgot()
        if each.role is Role.ASSISTANT:
            verdict = monitor.said(each.text[-_LONGEST:])
        elif each.role is Role.USER:
            monitor.user_message(each.text, is_progress=is_progress)
            verdict = LoopVerdict()
    return verdict


def heeded(monitor: LoopMonitor, mark: Any, held: int) -> int:
    """Forget what a model no longer sees, where a framework takes old messages away.

    `has_forgotten` says when.

    Args:
        monitor: that of the run, before it is shown the last round.
        mark: the number that this function returned before; anything else at the beginning.
        held: how many calls the conversation holds before the last round.
    """
    if not isinstance(mark, int) or not 0 < mark <= monitor.call_count:
        return monitor.call_count
    if not has_forgotten(monitor.call_count, mark, held):
        return mark
    monitor.forgot()
    return monitor.call_count


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


@beta
def stopped(verdict: LoopVerdict) -> str:
    """Return why a run has ended, as its last answer."""
    return f"Stopped: the agent was stuck in a loop. {visible(reason_of(verdict))}".rstrip()


def reason_of(verdict: LoopVerdict) -> str:
    """Return what was found; empty text for nothing."""
    return verdict.detection.message if verdict.detection else ""


def _key_of(history: History) -> Tuple[Any, ...]:
    """Return what is equal for equal histories; not all arguments can be compared themselves."""
    asked = [
        (call.tool_name, call.id, call.round, canonical_json(call.arguments))
        for call in history.calls
    ]
    return asked, history.results, history.turn_starts, history.messages


class _KnownOpinions:
    """The latest answers, by the rounds that they were about.

    Its last 20 rounds, which a judge sees, identify a place in a conversation. So an
    answer is found again where older messages were taken away meanwhile, and counts for a
    conversation that is equal that far.
    """

    def __init__(self) -> None:
        self._opinions: Latest[str, Optional[Opinion]] = Latest(_KEPT_OPINIONS)

    def note(self, rounds: Sequence[History], opinion: Optional[Opinion]) -> None:
        """Keep what was said about the last of these rounds; None for no opinion."""
        self._opinions[_places(rounds)[-1]] = opinion

    def about(self, rounds: Sequence[History]) -> List[Sequence[Optional[Opinion]]]:
        """Return for each of these rounds what was said about it; empty if no judge was asked."""
        if not self._opinions:
            return [()] * len(rounds)
        places = _places(rounds)
        return [(self._opinions[place],) if place in self._opinions else () for place in places]


def _places(rounds: Sequence[History]) -> List[str]:
    hashes = [_hash(together) for together in rounds]
    return [
        "".join(hashes[max(0, stop - _JUDGED_ROUNDS) : stop]) for stop in range(1, len(hashes) + 1)
    ]


def _hash(together: History) -> str:
    content = [
        [call.id, call.tool_name, plain(call.arguments), result and result.text]
        for call, result in zip(together.calls, together.results)
    ]
    return sha256(json.dumps(content, sort_keys=True).encode("ascii")).hexdigest()[:16]
