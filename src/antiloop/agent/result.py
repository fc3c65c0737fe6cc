"""The result of a run."""

from dataclasses import dataclass, field
from typing import Any, Optional, Tuple

from ..lazy import lazy_method
from ..loop_detection import LoopDetection
from ..short_repr import counted, quoted, short_repr
from ..stability import beta
from ..text_enum import TextEnum
from ..trace import AgentTrace
from ..types import Message, ToolCall, ToolResult
from .providers.protocol import Usage


@beta
class RunStatus(TextEnum):
    """How a run ended."""

    COMPLETED = "completed"
    """The model gave its final answer."""
    MAX_ITERATIONS = "max_iterations"
    """The model still requested tools when the limit of iterations was reached."""
    LOOP_DETECTED = "loop_detected"
    """The agent was stuck in a tool-call loop."""
    FAILED = "failed"
    """No answer fitted the response format, or an exception ended the run."""


@beta
@dataclass(frozen=True)
class AgentResult:
    """The result of a run, however it ended."""

    run_id: str
    status: RunStatus
    final_message: Optional[Message] = None
    """The model's last message; None if it sent none."""
    output: Any = None
    """The answer in the response format; None without a format or a fitting answer."""
    iterations: int = 0
    """Number of iterations, including the last one."""
    tool_calls: Tuple[ToolCall, ...] = ()
    """All calls, oldest first; `round` counts from 1 and is shared by the calls of one reply."""
    tool_results: Tuple[ToolResult, ...] = ()
    """``tool_results[i]`` is what came back from ``tool_calls[i]``."""
    messages: Tuple[Message, ...] = ()
    """The whole conversation; it can be given to `run` again."""
    usage: Usage = field(default_factory=Usage)
    """Tokens spent in all."""
    trace: AgentTrace = field(default_factory=lambda: AgentTrace(""))
    """What happened, step by step."""
    detection: Optional[LoopDetection] = None
    """The loop that ended the run."""
    error: Optional[str] = None
    """The error, if the run failed."""

    def __repr__(self) -> str:
        done = (
            counted(self.iterations, "iteration"),
            counted(len(self.tool_calls), "tool call"),
        )
        return short_repr(self, self.status.value, *done, quoted(self.error or self.text))

    _repr_html_ = lazy_method("report.notebook", "result_html")

    @property
    def text(self) -> str:
        """The text of the final message; empty if there is none."""
        return self.final_message.content if self.final_message else ""
