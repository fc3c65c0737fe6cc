"""What all adapters share: a live conversation, replayed and judged."""

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Iterable, List, Mapping, Optional, Sequence

from ..formats import History, rounds_of
from ..loop_detection import LoopAction, LoopDetector, LoopMonitor, LoopVerdict, ToolPolicy
from ..loop_detection.messages import system_notice, visible
from ..trace import to_plain
from ..types import Role, ToolCall

if TYPE_CHECKING:
    from ..agent import AgentObserver

_logger = logging.getLogger("antiloop")
_GO_ON = LoopVerdict()
_KEPT_WINDOWS = 4


class Guard:
    """Judge a conversation that a framework keeps.

    There is no state here: the monitor of a run is made anew from the conversation each time, so a
    run that is resumed elsewhere decides as the unbroken one. Only the last calls are replayed,
    four windows full, so that a step of a long run costs no more than one of a short run.

    Args:
        detector: what looks for loops, and what is done about them; the escalating preset where
            left out.
        ignore: names of tools whose calls are no evidence: hand-offs, final answers, planning.
        observers: are told of each loop through `on_tool_loop_detected`; what they raise is logged.
        across_turns: look at the whole conversation; at what came after the user's last message
            where false.

    Raises:
        TypeError: for one name where names are meant.
    """

    def __init__(
        self,
        detector: Optional[LoopDetector] = None,
        *,
        ignore: Iterable[str] = (),
        observers: "Iterable[AgentObserver]" = (),
        across_turns: bool = False,
    ) -> None:
        if isinstance(ignore, str):
            raise TypeError(f"ignore takes a list of tool names, not a text: [{ignore!r}]")
        self.detector = detector or LoopDetector.escalating()
        self.observers = tuple(observers)
        self.across_turns = across_turns
        self._ignored: Mapping[str, ToolPolicy] = {name: ToolPolicy(exempt=True) for name in ignore}

    def monitor(self) -> LoopMonitor:
        """Make the monitor of one run."""
        return self.detector.monitor(self._ignored)

    def recent(self, messages: Sequence[Any]) -> Sequence[Any]:
        """Give the messages that can matter, so that a long conversation is not read again whole.

        A round takes a reply and a message for each result.
        """
        return messages[-2 * self._kept :]

    def replay(self, monitor: LoopMonitor, history: History) -> LoopVerdict:
        """Show a monitor these calls, and give its verdict on the last round; nobody is told."""
        verdict = _GO_ON
        turn = history if self.across_turns else history.last_turn()
        for together in self._last_rounds(turn):
            verdict = self.record(monitor, together)
        return verdict

    def replayed(self, history: History) -> LoopMonitor:
        """Make a monitor that has seen these calls."""
        monitor = self.monitor()
        self.replay(monitor, history)
        return monitor

    def record(self, monitor: LoopMonitor, together: History) -> LoopVerdict:
        """Tell a monitor of one round.

        Ids may stand in many rounds where a model is replayed, and messages are counted anew where
        old ones are taken away; how many calls came before tells the rounds of a run apart.
        """
        calls = [replace(call, round=monitor.call_count) for call in together.calls]
        return monitor.after(calls, together.results)

    def judge(self, history: History, run_id: str = "") -> LoopVerdict:
        """Say what is to be done after the last round of this history, and tell the observers.

        Ask once a round, when its results are in and the model has not been asked again.
        """
        verdict = self.replay(self.monitor(), history)
        self.tell(verdict, run_id)
        return verdict

    def before(self, history: History, call: ToolCall) -> LoopVerdict:
        """Say whether a call may run: `block` with the words of the refusal, or go on.

        Args:
            history: what came before; where the round of the call is its last round already, that
                round does not count: none of it has run.
            call: which call; its id finds its round.
        """
        return self.replayed(without_round_of(call, history)).before(call)

    def tell(self, verdict: LoopVerdict, run_id: str) -> None:
        """Tell the observers of a verdict that is more than to go on."""
        found = verdict.detection
        if found is None or verdict.action is LoopAction.CONTINUE:
            return
        details = to_plain(found.details)
        for observer in self.observers:
            try:
                observer.on_tool_loop_detected(run_id, found.detector_name, details)
            except Exception:
                _logger.exception("observer %r raised; the run goes on", observer)

    def notice(self, verdict: LoopVerdict) -> str:
        """Give the words of a verdict as something a user's message can hold.

        Not every model takes a system message in a conversation, so a tag says who speaks.
        """
        is_system = self.detector.notice_role is Role.SYSTEM
        return system_notice(verdict.message) if is_system else verdict.message

    @property
    def _kept(self) -> int:
        return _KEPT_WINDOWS * self.detector.window

    def _last_rounds(self, history: History) -> List[History]:
        rounds, calls = [], 0
        for together in reversed(list(history.rounds())):
            rounds.append(together)
            calls += len(together)
            if calls >= self._kept:
                break
        return rounds[::-1]


def without_round_of(call: ToolCall, history: History) -> History:
    """Cut a history before the round of a pending call, if that is its last round."""
    if not len(history):
        return history
    start, stop = list(rounds_of(history.calls))[-1]
    pending = zip(history.calls[start:stop], history.results[start:stop])
    # Ids may be those of the round before, or there are none: a call that ran has a result.
    if not any(result is None and each.id in (call.id, None) for each, result in pending):
        return history
    turns = tuple(turn for turn in history.turn_starts if turn <= start)
    return History(history.calls[:start], history.results[:start], turns)


def stopped(verdict: LoopVerdict) -> str:
    """Say why a run has ended, as its last answer."""
    return f"Stopped: the agent was stuck in a loop. {visible(_reason(verdict))}".rstrip()


def _reason(verdict: LoopVerdict) -> str:
    return verdict.detection.message if verdict.detection else ""
