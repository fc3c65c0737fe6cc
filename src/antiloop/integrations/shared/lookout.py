"""What all adapters share: the detector, and the observers of its findings."""

import logging
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Optional, Tuple

from ...frozen import frozen
from ...loop_detection import (
    CaseFile,
    LoopAction,
    LoopDetector,
    LoopMonitor,
    LoopVerdict,
    Opinion,
    ToolPolicy,
)
from ...loop_detection.messages import NOTICE_MARKER, system_notice
from ...short_repr import short_repr
from ...stability import beta
from ...trace import to_plain
from ...types import Role

if TYPE_CHECKING:
    from ...agent import AgentObserver

_logger = logging.getLogger("antiloop")
_EVENTS = ("on_verdict", "on_tool_loop_detected", "on_second_opinion", "on_decision_time")


@beta
class Lookout:
    """Make the monitors of runs, and report what they find.

    Args:
        detector: what looks for loops, and what is done about them; the escalating preset by
            default.
        ignore: names of tools whose calls do not count: handoffs, final answers, planning.
        observers: receive the verdict on each round through `on_verdict`, each loop through
            `on_tool_loop_detected`, and opinions through `on_second_opinion`; what they raise is
            logged.

    Raises:
        TypeError: for one name or observer where several are meant, for a class of observers or
            what is not an observer, or for a detector that is not a `LoopDetector`.
    """

    own_tools: Tuple[str, ...] = ()
    """Tools of the framework, whose calls do not count either."""

    def __init__(
        self,
        detector: Optional[LoopDetector] = None,
        *,
        ignore: Iterable[str] = (),
        observers: "Iterable[AgentObserver]" = (),
    ) -> None:
        if isinstance(ignore, str):
            raise TypeError(f"ignore takes a list of tool names, not a text: [{ignore!r}]")
        if not isinstance(detector, (LoopDetector, type(None))):
            raise TypeError(f"detector must be a LoopDetector or None, got {detector!r}")
        if not hasattr(observers, "__iter__"):
            raise TypeError(f"observers must be a list of observers, got {observers!r}")
        self.detector = detector or LoopDetector.escalating()
        self.observers = tuple(observers)
        for each in self.observers:
            if isinstance(each, type):
                raise TypeError(f"an observer is a class; pass an instance: {each.__name__}()")
            if not any(hasattr(each, name) for name in _EVENTS):
                raise TypeError(f"an observer must be an AgentObserver, got {each!r}; subclass it")
        names = (*self.own_tools, *ignore)
        self._ignored: Mapping[str, ToolPolicy] = {name: ToolPolicy(exempt=True) for name in names}

    def __repr__(self) -> str:
        return short_repr(self, repr(self.detector))

    can_ask = False
    """Whether a judge is asked for a second opinion: only where the framework can wait for it."""

    def monitor(self, run_id: str = "") -> LoopMonitor:
        """Make the monitor of one run; a judge sees the run's id."""
        monitor = self.detector.monitor(self._ignored)
        if any(hasattr(each, "on_decision_time") for each in self.observers):
            from ...agent.timed_monitor import TimedMonitor

            monitor = TimedMonitor.of(monitor, self.observers)
        monitor.consultation.begin(run_id, is_possible=self.can_ask)
        return monitor

    def asked(self, monitor: LoopMonitor, verdict: LoopVerdict, run_id: str = "") -> LoopVerdict:
        """Return the final verdict: where it carries a case, ask the judge and wait."""
        if verdict.case is None:
            return verdict
        return monitor.answer(self.opinion_on(verdict.case, run_id))

    async def aasked(
        self, monitor: LoopMonitor, verdict: LoopVerdict, run_id: str = ""
    ) -> LoopVerdict:
        """Do what `asked` does, and let the event loop go on meanwhile."""
        if verdict.case is None:
            return verdict
        return monitor.answer(await self.aopinion_on(verdict.case, run_id))

    def opinion_on(self, case: Optional[CaseFile], run_id: str) -> Optional[Opinion]:
        """Ask the judge, sync or async, and wait; an error or a timeout counts as no opinion."""
        options = self.detector.second_opinion
        if case is None or options is None:
            return None
        from ...agent.drivers.asking import ask

        return self._heard(case, ask(options, case), run_id)

    async def aopinion_on(self, case: Optional[CaseFile], run_id: str) -> Optional[Opinion]:
        """Ask the judge without blocking the event loop; otherwise like `opinion_on`."""
        options = self.detector.second_opinion
        if case is None or options is None:
            return None
        from ...agent.drivers.asking import aask

        return self._heard(case, await aask(options, case), run_id)

    def _heard(self, case: CaseFile, opinion: Optional[Opinion], run_id: str) -> Optional[Opinion]:
        """Notify the observers of an opinion."""
        self._tell("on_second_opinion", run_id, case, opinion)
        return opinion

    def tell(self, verdict: LoopVerdict, run_id: str) -> None:
        """Notify the observers of the verdict on a round."""
        verdict = verdict.reported
        found = verdict.detection
        self._tell("on_verdict", run_id, verdict)
        if found is None or verdict.action is LoopAction.CONTINUE:
            return
        details = frozen(to_plain(found.details))
        self._tell("on_tool_loop_detected", run_id, found.detector_name, details)

    def _tell(self, event: str, *arguments: Any) -> None:
        for observer in self.observers:
            hear = getattr(observer, event, None)
            try:
                if hear is not None:
                    hear(*arguments)
            except Exception:
                _logger.exception("observer %r raised; the run goes on", observer)

    def notice(self, verdict: LoopVerdict) -> str:
        """Return the words of a verdict as something a user's message can hold.

        Not every model takes a system message in a conversation, so a tag says who speaks. Your
        own text gets the marker in front, so that it does not count as a user message if the
        conversation is kept.
        """
        words = verdict.message
        if not words.startswith(NOTICE_MARKER):
            words = f"{NOTICE_MARKER} {words}"
        return system_notice(words) if self.detector.notice_role is Role.SYSTEM else words
