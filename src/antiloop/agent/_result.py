"""The result of a run."""

from dataclasses import dataclass, field
from typing import Any, Optional, Tuple

from .._lazy import lazy_method
from .._short_repr import counted, quoted, short_repr
from .._text_enum import TextEnum
from .._trace import AgentTrace
from ..loop_detection import LoopDetection
from ..stability import stable
from ..types import Message, ToolCall, ToolResult
from .providers._protocol import Usage


@stable
class RunStatus(TextEnum):
    """The ways in which a run ends."""

    COMPLETED = "completed"
    """The model gave its final answer."""
    MAX_ITERATIONS = "max_iterations"
    """The model still requested tools when the limit of iterations was reached."""
    TRUNCATED = "truncated"
    """The final answer is not whole: a limit of tokens, a content filter or a broken stream cut it
    off; `AgentResult.error` says which, and what to do."""
    LOOP_DETECTED = "loop_detected"
    """The agent was stuck in a tool-call loop."""
    FAILED = "failed"
    """No answer fitted the response format, or an exception ended the run."""


@stable
@dataclass(frozen=True)
class AgentResult:
    """The result of a run, however it ended."""

    run_id: str
    status: RunStatus
    final_message: Optional[Message] = None
    """The model's last message; None if it sent none."""
    output: Any = field(default=None, hash=False)
    """The answer in the response format; None without a format or a fitting answer."""
    iterations: int = 0
    """Number of iterations, including the last one."""
    tool_calls: Tuple[ToolCall, ...] = ()
    """All calls, oldest first. Those of one reply share their `round`, which counts from 1, or on
    from the conversation that the run continued."""
    tool_results: Tuple[ToolResult, ...] = ()
    """``tool_results[i]`` is what came back from ``tool_calls[i]``."""
    messages: Tuple[Message, ...] = ()
    """The whole conversation; it can be given to `run` again."""
    usage: Usage = field(default_factory=Usage)
    """Tokens spent in all."""
    trace: AgentTrace = field(default_factory=lambda: AgentTrace(""))
    """The record of the run, step by step."""
    detection: Optional[LoopDetection] = None
    """The loop that ended the run."""
    error: Optional[str] = None
    """The error, if the run failed or its answer was cut off."""

    def __repr__(self) -> str:
        done = (counted(self.iterations, "iteration"), counted(len(self.tool_calls), "tool call"))
        return short_repr(self, self.status.value, *done, quoted(self.error or self.text))

    _repr_html_ = lazy_method("report._notebook.pictures", "result_html")

    @property
    def text(self) -> str:
        """The text of the final message; empty if there is none."""
        return self.final_message.content if self.final_message else ""
