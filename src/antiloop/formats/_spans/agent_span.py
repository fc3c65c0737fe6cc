"""The facts of an agent's run that a span tells, in whichever convention it tells them."""

from dataclasses import dataclass
from typing import Any, Mapping, Optional, Tuple

from ...types import ToolCall, ToolResult
from .._content import arguments_of, field_of, optional_text, parsed, text_of
from .span import Span


@dataclass(frozen=True)
class AgentSpan:
    """One span of an agent, as far as it bears on its tool calls; the rest is forgotten."""

    span: Span
    """The span, with its place and time; its attributes are left out."""
    kind: str
    """``tool``, ``model``, ``agent``, or empty where it only tells the conversation."""
    conversation: Optional[str] = None
    agent: Optional[str] = None
    call: Optional[ToolCall] = None
    knows_arguments: bool = False
    """For a tool: whether the span records them."""
    result: Optional[ToolResult] = None
    """For a tool: what came back, if that is recorded."""
    model: Optional[str] = None
    input_tokens: Optional[int] = None
    output_tokens: Optional[int] = None
    tokens: Optional[int] = None
    """For a model: both together; also known where the parts are not."""
    cost: Optional[float] = None
    requests: Tuple[ToolCall, ...] = ()
    """For a model: the calls that it asks for, if recorded."""
    answers: Tuple[Tuple[str, ToolResult], ...] = ()
    """For a model: the results that it was given last, each with the id of its call."""
    user_spoke: Optional[bool] = None
    """For a model: whether it was given a new message of the user; None where not recorded."""
    heard: str = ""
    """For a model: what the user said in it, where that is recorded."""
    thought: str = ""
    """For a model: what it thought before its reply, where its conversation is recorded, too."""
    said: str = ""
    """For a model: what it replied in words, under the same condition."""


def call_of(name: Any, arguments: Any, call_id: Any) -> ToolCall:
    """Return a call of what a span holds of it."""
    return ToolCall(text_of(name), arguments_of(arguments), optional_text(call_id))


def tool_message_in(value: Any) -> Optional[Mapping[str, Any]]:
    """Find a framework's own message in a tool's output; its id differs with every call."""
    outer = parsed(value)
    for message in (outer, *(field_of(outer, name) for name in ("output", "kwargs", "data"))):
        if isinstance(message, dict) and {"content", "tool_call_id"} <= message.keys():
            return message
    return None
