"""The state of one run, and the verdict on each of its rounds."""

import logging
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Callable, Deque, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ..stability import beta
from ..types import ToolCall
from .base import WindowDetector
from .detection import LoopDetection, LoopSeverity
from .evidence import Facts, Result
from .ladder import Ladder
from .messages import notice, refusal
from .outcome import Outcome
from .policy import LoopAction
from .tool_policy import NO_POLICY
from .window import Window

if TYPE_CHECKING:
    from .detector import LoopDetector

_logger = logging.getLogger("antiloop")


@beta
@dataclass(frozen=True)
class LoopVerdict:
    """What is to be done now."""

    action: LoopAction = LoopAction.CONTINUE
    """What to do."""
    detection: Optional[LoopDetection] = None
    """Why; None where there is nothing to do."""
    message: str = ""
    """What to tell the model: the notice, or the result of the refused call."""

    @property
    def severity(self) -> LoopSeverity:
        """How serious it is."""
        return self.action.severity


GO_ON = LoopVerdict()
"""Nothing is to be done."""

Listener = Callable[[LoopVerdict], None]
"""Is told every verdict that is more than to go on."""


@beta
class LoopMonitor:
    """Watches one run: a bounded window of fingerprints, and where each loop stands.

    Ask `before` whether a call may run, tell `after` what the calls of a round gave. Monitors share
    nothing, so many runs need no lock.
    """

    def __init__(self, detector: "LoopDetector") -> None:
        self.enabled = True
        """False switches everything off: nothing is recorded, every verdict is to go on."""
        self._detector = detector
        self._window = Window(detector.window, detector.tools)
        self._ladder = Ladder(detector.escalation)
        self._rounds = 0
        self._blocking: Optional[LoopDetection] = None
        self._reported: Dict[str, None] = {}
        self._listeners: List[Listener] = []
        keeps_texts = not all(isinstance(each, WindowDetector) for each in detector.detectors)
        self._texts: Optional[Deque[Tuple[ToolCall, Result]]] = (
            deque(maxlen=detector.window) if keeps_texts else None
        )

    @property
    def call_count(self) -> int:
        """How many calls were recorded."""
        return self._window.call_count

    def before(self, call: ToolCall) -> LoopVerdict:
        """Say whether a call may run; nothing is recorded.

        Returns:
            A verdict with the action `block` and the words of the refusal, or to go on.
        """
        if not self.enabled or not self._ladder.blocked or self._blocking is None:
            return GO_ON
        policy = self._detector.tools.get(call.tool_name, NO_POLICY)
        if Facts.of(call, None, policy).call not in self._ladder.blocked:
            return GO_ON
        return LoopVerdict(LoopAction.BLOCK, self._blocking, refusal(self._blocking))

    def after(self, tool_calls: Sequence[ToolCall], tool_results: Sequence[Result]) -> LoopVerdict:
        """Record one round and judge it.

        Args:
            tool_calls: the calls of one model reply, in order.
            tool_results: ``tool_results[i]`` belongs to ``tool_calls[i]``; what is missing, or
                None, is unknown.
        """
        calls, results = self._new(tool_calls, tool_results) if self.enabled else ([], [])
        if not calls:
            return GO_ON
        self._rounds += 1
        self._window.append(calls, results)
        if self._texts is not None:
            self._texts.extend((call, _at(results, i)) for i, call in enumerate(calls))
        verdict = self._judge()
        if verdict.action is not LoopAction.CONTINUE:
            self._tell(verdict)
        return verdict

    def record_call(
        self,
        tool_name: str,
        arguments: Union[Mapping[str, Any], str, None] = None,
        result: Result = None,
    ) -> LoopVerdict:
        """Record one call of a hand-written loop as a round of its own, and judge it."""
        return self.after([ToolCall(tool_name, arguments)], [result])

    def add_listener(self, listener: Listener) -> None:
        """Have every verdict that is more than to go on told to a function; what it raises is logged."""
        self._listeners.append(listener)

    def mark_progress(self) -> None:
        """Something that the calls do not show has moved: what came before is no evidence any more."""
        self._window.clear()
        if self._texts is not None:
            self._texts.clear()
        self._leave()

    def user_message(self) -> None:
        """The user has spoken, which is progress."""
        self.mark_progress()

    def reset(self) -> None:
        """Start anew, as for another run; listeners stay."""
        listeners, enabled = self._listeners, self.enabled
        self.__init__(self._detector)  # type: ignore[misc]
        self._listeners, self.enabled = listeners, enabled

    def _judge(self) -> LoopVerdict:
        """Ask all detectors and take the strongest action, the first of equals."""
        best, rung = GO_ON, 0
        for found in self._found():
            action, step = self._ladder.climb(found, self._rounds)
            if _RANK[action] > _RANK[best.action]:
                best, rung = LoopVerdict(action, replace(found, severity=action.severity)), step
        self._after_refusals()
        if best.detection is None:
            return GO_ON
        self._ladder.carry_out(best.action, best.detection)
        if best.action is LoopAction.BLOCK:
            self._blocking = best.detection
        return replace(best, message=self._words(best, rung))

    def _found(self) -> List[LoopDetection]:
        latest = self._window.rounds[-1] if self._window.rounds else None
        calls = [call for call, _ in self._texts or ()]
        results = [result for _, result in self._texts or ()]
        found = [
            detection
            for each in self._detector.detectors
            for detection in [self._detector.ask(each, self._window, calls, results)]
            if detection is not None
        ]
        refused = latest and any(i.facts.outcome is Outcome.REFUSED for i in latest.evidence)
        if refused and self._blocking and all(f.identity != self._blocking.identity for f in found):
            found.append(self._blocking)
        return found

    def _after_refusals(self) -> None:
        """Leaving the loop ends the block."""
        latest = self._window.rounds[-1]
        if self._ladder.blocked and self._ladder.blocked.isdisjoint(latest.calls):
            self._leave()

    def _leave(self) -> None:
        self._ladder.leave()
        self._blocking = None

    def _words(self, verdict: LoopVerdict, rung: int) -> str:
        assert verdict.detection is not None
        if verdict.action is LoopAction.NOTIFY:
            return notice(self._detector.inject_message, verdict.detection, rung)
        return verdict.detection.message

    def _new(
        self, calls: Sequence[ToolCall], results: Sequence[Result]
    ) -> Tuple[List[ToolCall], List[Result]]:
        """Leave out calls that were reported before: hooks before and after may both report."""
        kept: List[Tuple[ToolCall, Result]] = []
        for position, call in enumerate(calls):
            token = f"{call.id}\x00{call.round}\x00{call.tool_name}"
            if call.id is None or token not in self._reported:
                kept.append((call, _at(results, position)))
            if call.id is not None:
                self._reported[token] = None
        while len(self._reported) > self._detector.window:
            del self._reported[next(iter(self._reported))]
        return [call for call, _ in kept], [result for _, result in kept]

    def _tell(self, verdict: LoopVerdict) -> None:
        for listener in self._listeners:
            try:
                listener(verdict)
            except Exception:
                _logger.exception("listener %r raised; the run goes on", listener)


_RANK = {action: rank for rank, action in enumerate(LoopAction)}


def _at(results: Sequence[Result], position: int) -> Result:
    return results[position] if position < len(results) else None
