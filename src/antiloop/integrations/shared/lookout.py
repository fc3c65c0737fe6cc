"""What all adapters share: what looks for loops, and who is told of them."""

import logging
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Optional, Tuple

from ...frozen import frozen
from ...loop_detection import LoopAction, LoopDetector, LoopMonitor, LoopVerdict, ToolPolicy
from ...loop_detection.messages import NOTICE_MARKER, system_notice
from ...short_repr import short_repr
from ...stability import beta
from ...trace import to_plain
from ...types import Role

if TYPE_CHECKING:
    from ...agent import AgentObserver

_logger = logging.getLogger("antiloop")


@beta
class Lookout:
    """Make the monitors of runs, and tell of what they find.

    Args:
        detector: what looks for loops, and what is done about them; the escalating preset where
            left out.
        ignore: names of tools whose calls are no evidence: hand-offs, final answers, planning.
        observers: are told the verdict on each round through `on_verdict`, and of each loop through
            `on_tool_loop_detected`; what they raise is logged.

    Raises:
        TypeError: for one name or observer where several are meant, or for a detector that is no
            `LoopDetector`.
    """

    own_tools: Tuple[str, ...] = ()
    """Tools of the framework's own, whose calls are no evidence either."""

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
        names = (*self.own_tools, *ignore)
        self._ignored: Mapping[str, ToolPolicy] = {name: ToolPolicy(exempt=True) for name in names}

    def __repr__(self) -> str:
        return short_repr(self, repr(self.detector))

    can_ask = False
    """Whether a judge is asked for a second opinion: only where the framework can wait for it."""

    def monitor(self) -> LoopMonitor:
        """Make the monitor of one run."""
        monitor = self.detector.monitor(self._ignored)
        monitor.consultation.begin(is_possible=self.can_ask)
        return monitor

    def tell(self, verdict: LoopVerdict, run_id: str) -> None:
        """Tell the observers of the verdict on a round."""
        verdict = verdict.reported
        found = verdict.detection
        self._tell("on_verdict", run_id, verdict)
        if found is None or verdict.action is LoopAction.CONTINUE:
            return
        details = frozen(to_plain(found.details))
        self._tell("on_tool_loop_detected", run_id, found.detector_name, details)

    def _tell(self, event: str, *told: Any) -> None:
        for observer in self.observers:
            hear = getattr(observer, event, None)
            try:
                if hear is not None:
                    hear(*told)
            except Exception:
                _logger.exception("observer %r raised; the run goes on", observer)

    def notice(self, verdict: LoopVerdict) -> str:
        """Give the words of a verdict as something a user's message can hold.

        Not every model takes a system message in a conversation, so a tag says who speaks. Words of
        your own get the marker in front: where the conversation is kept, nobody must take them for
        the user's.
        """
        words = verdict.message
        if not words.startswith(NOTICE_MARKER):
            words = f"{NOTICE_MARKER} {words}"
        return system_notice(words) if self.detector.notice_role is Role.SYSTEM else words
