"""The base of all adapters: the detector, and the observers of its findings."""

import inspect
from hashlib import sha256
from typing import TYPE_CHECKING, Iterable, Mapping, Optional, Tuple

from .._checks import checked_observers, tool_names
from .._decision_time import measure_for
from .._short_repr import short_repr
from .._text.canonical import canonical_json
from ..loop_detection import (
    CaseFile,
    ClientProfile,
    LoopAction,
    LoopDetector,
    LoopMonitor,
    LoopVerdict,
    Opinion,
    ToolPolicy,
    system_notice,
)
from ..loop_detection._internal import (
    EVENTS,
    NO_CLIENT,
    NOTICE_MARKER,
    check_detector,
    check_is_sync,
    events_of,
    last_words,
    tell_each,
)
from ..stability import beta
from ..types import Role

if TYPE_CHECKING:
    from ..agent import AgentObserver


@beta
class Lookout:
    """Make the monitors of runs, and report what they find.

    Args:
        detector: what looks for loops, and what is done about them; the escalating preset by
            default.
        ignore: names of tools whose calls do not count: handoffs, final answers, planning.
        observers: receive what was said through `on_user_message` and `on_said`, each round and
            its verdict through `on_round` and `on_verdict`, each loop through
            `on_tool_loop_detected`, and opinions through `on_second_opinion`; what they raise is
            logged.

    Raises:
        TypeError: for one name or observer where several are meant, for a class of observers,
            what is not an observer, or one with async methods, or for a detector that is not a
            `LoopDetector`.
    """

    own_tools: Tuple[str, ...] = ()
    """Tools of the framework, whose calls do not count either."""
    profile: ClientProfile = NO_CLIENT
    """The profile of the program that runs the tools."""

    def __init__(
        self,
        detector: Optional[LoopDetector] = None,
        *,
        ignore: Iterable[str] = (),
        observers: "Iterable[AgentObserver]" = (),
    ) -> None:
        if detector is not None:
            check_detector("detector must be", detector)
        self.detector: LoopDetector = detector or LoopDetector.escalating()
        self.observers: Tuple[AgentObserver, ...] = checked_observers(observers, EVENTS)
        for each in self.observers:
            check_is_sync(each)
        names = (*self.own_tools, *tool_names("ignore", ignore))
        self._ignored: Mapping[str, ToolPolicy] = {name: ToolPolicy(exempt=True) for name in names}

    def __repr__(self) -> str:
        return short_repr(self, repr(self.detector))

    can_ask = False
    """Whether a judge is asked for a second opinion: only where the framework can wait for it."""
    logs_verdicts = True
    """Whether the monitors log their verdicts, if the detector's ``log_verdicts`` is set."""

    def monitor(self, run_id: str = "", client: Optional[ClientProfile] = None) -> LoopMonitor:
        """Make the monitor of one run; listeners, logs and judges receive the run's id.

        Args:
            run_id: the run's id.
            client: the program that runs the tools, where it is not the guard's own.
        """
        return self.detector.monitor(
            self._ignored,
            client=client or self.profile,
            run_id=run_id,
            logs=self.logs_verdicts,
            can_ask=self.can_ask,
            measure=measure_for(self.observers),
        )

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
        from ..agent._internal import ask

        return self._heard(case, ask(options, case), run_id)

    async def aopinion_on(self, case: Optional[CaseFile], run_id: str) -> Optional[Opinion]:
        """Ask the judge without blocking the event loop; otherwise like `opinion_on`."""
        options = self.detector.second_opinion
        if case is None or options is None:
            return None
        from ..agent._internal import aask

        return self._heard(case, await aask(options, case), run_id)

    def _heard(self, case: CaseFile, opinion: Optional[Opinion], run_id: str) -> Optional[Opinion]:
        """Notify the observers of an opinion."""
        tell_each(self.observers, "on_second_opinion", run_id, case, opinion)
        return opinion

    def tell(
        self, verdict: LoopVerdict, run_id: str, monitor: Optional[LoopMonitor] = None
    ) -> None:
        """Notify the observers of a reply, as its monitor knows it, and of the verdict on it."""
        if monitor is not None:
            self.tell_reply(monitor, run_id)
        for event, arguments in events_of(verdict):
            tell_each(self.observers, event, run_id, *arguments)

    def tell_reply(self, monitor: LoopMonitor, run_id: str) -> None:
        """Notify the observers, once, of what a monitor was last shown."""
        for event, arguments in monitor.last_reply():
            tell_each(self.observers, event, run_id, *arguments)

    def notice(self, verdict: LoopVerdict) -> str:
        """Return the words of a verdict as something a user's message can hold.

        At ``conclude`` they ask the model for its last words. Not every model takes a system
        message in a conversation, so a tag says who speaks. Your own text gets the marker in
        front, so that it does not count as a user message if the conversation is kept.
        """
        is_end = verdict.action is LoopAction.CONCLUDE
        words = last_words(verdict.loop) if is_end else verdict.message
        if not words.startswith(NOTICE_MARKER):
            words = f"{NOTICE_MARKER} {words}"
        return system_notice(words) if self.detector.notice_role is Role.SYSTEM else words


def detector_key(detector: LoopDetector, ignored: Iterable[str]) -> str:
    """Return a key of all options of a detector, and of the tools that do not count.

    A function, a judge for example, counts by its name, and a custom detector by its class and its
    attributes.
    """
    options = {name: getattr(detector, name) for name in inspect.signature(LoopDetector).parameters}
    text = canonical_json([type(detector), options, sorted(ignored)])
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
