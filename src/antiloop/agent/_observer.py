"""Observers of a run."""

import logging
import warnings
from typing import Any, Mapping, Optional, Sequence

from .._json_schema import nearest
from .._short_repr import said_by, short_repr
from .._text.masking import SECRETS, safely_shown
from .._text.shortening import NAME_LENGTH, visible
from ..loop_detection import CaseFile, LoopVerdict, Opinion
from ..stability import stable
from ..types import ToolCall, ToolResult
from ._result import AgentResult
from .providers._protocol import ModelReply, ModelRequest

logger = logging.getLogger(__name__)


@stable
class AgentObserver:
    """Receives the events of a run: override the methods that you need.

    If an observer raises an exception, it is logged, and the run goes on. A method is called in the
    thread of the run, which waits for it: start what takes long elsewhere. An abandoned run
    (cancelled, interrupted, or its stream left early) sends no end event. A class that defines a
    method with almost the name of an event gets a UserWarning, since the method is never called.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        _warn_of_misspelled(cls)

    def __repr__(self) -> str:
        return short_repr(self)

    def on_run_start(self, run_id: str) -> None:
        """Receive the start of a run."""

    def on_iteration_start(self, run_id: str, iteration: int) -> None:
        """Receive the start of an iteration, counted from 1."""

    def on_model_start(self, run_id: str, request: ModelRequest) -> None:
        """Receive the request before the model is asked."""

    def on_model_end(self, run_id: str, reply: ModelReply) -> None:
        """Receive the reply of the model."""

    def on_tool_start(self, run_id: str, call: ToolCall) -> None:
        """Receive a call before it runs; calls that never run send no event."""

    def on_tool_end(self, run_id: str, call: ToolCall, result: ToolResult) -> None:
        """Receive each result, in call order; blocked and invalid calls have one, too."""

    def on_user_message(self, run_id: str, text: str) -> None:
        """Receive what the user said, empty if that is not known."""

    def on_said(self, run_id: str, text: str) -> None:
        """Receive the text of a reply, even if nothing else of the reply is known."""

    def on_round(
        self, run_id: str, calls: Sequence[ToolCall], results: Sequence[Optional[ToolResult]]
    ) -> None:
        """Receive the calls of one reply and their results, None for unknown ones.

        The verdict on the round follows.
        """

    def on_verdict(self, run_id: str, verdict: LoopVerdict) -> None:
        """Receive the verdict on each round, even continue, before the run acts on it.

        In shadow mode it holds the decision, and `LoopVerdict.is_shadow` is true.
        """

    def on_tool_loop_detected(
        self, run_id: str, detector_name: str, details: Mapping[str, Any]
    ) -> None:
        """Receive a tool-call loop, before the run acts on it.

        The details of a shadow detector hold ``"shadow": True``.
        """

    def on_second_opinion(self, run_id: str, case: CaseFile, opinion: Optional[Opinion]) -> None:
        """Receive a judge's opinion on the run; None for no opinion."""

    def on_error(self, run_id: str, error: Exception) -> None:
        """Receive the exception that ends the run, before `on_run_end`."""

    def on_run_end(self, run_id: str, result: AgentResult) -> None:
        """Receive the result when the run has ended."""


@stable
class AsyncAgentObserver:
    """Like `AgentObserver`, with coroutines; in a sync run they are run as well.

    Each runs as a task, which the run waits for. One that takes longer than 30 seconds is cancelled
    and logged, and its observer receives nothing more of this run.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        _warn_of_misspelled(cls)

    def __repr__(self) -> str:
        return short_repr(self)

    async def a_on_run_start(self, run_id: str) -> None:
        """Receive the start of a run."""

    async def a_on_iteration_start(self, run_id: str, iteration: int) -> None:
        """Receive the start of an iteration, counted from 1."""

    async def a_on_model_start(self, run_id: str, request: ModelRequest) -> None:
        """Receive the request before the model is asked."""

    async def a_on_model_end(self, run_id: str, reply: ModelReply) -> None:
        """Receive the reply of the model."""

    async def a_on_tool_start(self, run_id: str, call: ToolCall) -> None:
        """Receive a call before it runs; calls that never run send no event."""

    async def a_on_tool_end(self, run_id: str, call: ToolCall, result: ToolResult) -> None:
        """Receive each result, in call order; blocked and invalid calls have one, too."""

    async def a_on_user_message(self, run_id: str, text: str) -> None:
        """Receive what the user said, empty if that is not known."""

    async def a_on_said(self, run_id: str, text: str) -> None:
        """Receive the text of a reply, even if nothing else of the reply is known."""

    async def a_on_round(
        self, run_id: str, calls: Sequence[ToolCall], results: Sequence[Optional[ToolResult]]
    ) -> None:
        """Receive a round; see `AgentObserver.on_round`."""

    async def a_on_verdict(self, run_id: str, verdict: LoopVerdict) -> None:
        """Receive the verdict on each round; see `AgentObserver.on_verdict`."""

    async def a_on_tool_loop_detected(
        self, run_id: str, detector_name: str, details: Mapping[str, Any]
    ) -> None:
        """Receive a tool-call loop; see `AgentObserver.on_tool_loop_detected`."""

    async def a_on_second_opinion(
        self, run_id: str, case: CaseFile, opinion: Optional[Opinion]
    ) -> None:
        """Receive a judge's opinion on the run; None for no opinion."""

    async def a_on_error(self, run_id: str, error: Exception) -> None:
        """Receive the exception that ends the run, before `a_on_run_end`."""

    async def a_on_run_end(self, run_id: str, result: AgentResult) -> None:
        """Receive the result when the run has ended."""


EVENTS = frozenset(
    name
    for kind in (AgentObserver, AsyncAgentObserver)
    for name in vars(kind)
    if name.startswith(("on_", "a_on_"))
) | {"on_decision_time"}
"""The methods that are called; an observer that is not a subclass has some of them."""


def _warn_of_misspelled(observer: type) -> None:
    """Warn of methods of a class that are named almost like events: they are never called."""
    for name in vars(observer):
        # A base of another library may call methods like these.
        if name in EVENTS or hasattr(super(observer, observer), name):
            continue
        if name.startswith(("on_", "a_on_")) and (hint := nearest(name, EVENTS, likeness=0.8)):
            said = f"{observer.__name__}.{name} is not an event of a run and is never called{hint}"
            warnings.warn(said, stacklevel=3)


@stable
class LoggingObserver(AgentObserver):
    """Write what a run does to the standard logging: loops as warnings, the rest below.

    Args:
        log: the logger, by default ``antiloop.agent._observer``.
    """

    def __init__(self, log: logging.Logger = logger) -> None:
        self._log = log

    def on_run_start(self, run_id: str) -> None:
        """Log at INFO."""
        self._log.info("run %s started", run_id)

    def on_iteration_start(self, run_id: str, iteration: int) -> None:
        """Log at DEBUG."""
        self._log.debug("run %s: iteration %d", run_id, iteration)

    def on_tool_start(self, run_id: str, call: ToolCall) -> None:
        """Log at DEBUG."""
        self._log.debug("run %s: calling %s", run_id, _shown(call))

    def on_tool_end(self, run_id: str, call: ToolCall, result: ToolResult) -> None:
        """Log at DEBUG."""
        outcome = "failed" if result.is_error else "answered"
        self._log.debug("run %s: %s %s", run_id, _shown(call), outcome)

    def on_tool_loop_detected(
        self, run_id: str, detector_name: str, details: Mapping[str, Any]
    ) -> None:
        """Log at WARNING."""
        shown = SECRETS.value(dict(details))
        self._log.warning("run %s: tool-call loop found by %s: %s", run_id, detector_name, shown)

    def on_error(self, run_id: str, error: Exception) -> None:
        """Log at INFO; the caller of `run` gets the exception itself."""
        self._log.info("run %s failed: %s", run_id, visible(said_by(error)))

    def on_run_end(self, run_id: str, result: AgentResult) -> None:
        """Log at INFO."""
        self._log.info(
            "run %s ended: %s after %d iterations", run_id, result.status.value, result.iterations
        )


def _shown(call: ToolCall) -> str:
    """Return the name of a tool: models invent some, which may forge a line of a log."""
    return safely_shown(call.tool_name, NAME_LENGTH)
