"""OpenTelemetry spans as Langfuse writes them: ``langfuse.observation.*``."""

from dataclasses import replace
from typing import Any, Optional

from ...types import ToolCall, ToolResult
from ..amounts import whole_number
from ..content import arguments_of, field_of, optional_text, tag_of, text_of
from .agent_span import AgentSpan
from .span import Span
from .tool_message import tool_message_in

_PREFIX = "langfuse.observation."
_KINDS = {"tool": "tool", "generation": "model", "agent": "agent"}


def from_langfuse_span(span: Span) -> Optional[AgentSpan]:
    """Read one span; None if it is not one of Langfuse."""
    written = span.attributes.get(f"{_PREFIX}type")
    if not isinstance(written, str):
        return None
    if span.error is None and tag_of(span.attributes, f"{_PREFIX}level") == "ERROR":
        span = replace(span, error=text_of(span.attributes.get(f"{_PREFIX}status_message")))
    kind = _KINDS.get(written.lower(), "")
    session = optional_text(span.attributes.get("session.id"))
    if kind == "tool":
        return _tool(span, session)
    if kind == "model":
        return _model(span, session)
    return AgentSpan(span, kind, session, optional_text(span.name) if kind == "agent" else None)


def _tool(span: Span, session: Optional[str]) -> AgentSpan:
    given, returned = (span.attributes.get(f"{_PREFIX}{side}") for side in ("input", "output"))
    message = tool_message_in(returned)
    returned = returned if message is None else message["content"]
    failed = span.error is not None or tag_of(message, "status") == "error"
    result = ToolResult(text_of(returned), failed) if returned is not None else None
    return AgentSpan(
        span,
        "tool",
        session,
        call=ToolCall(
            span.name, arguments_of(given), optional_text(field_of(message, "tool_call_id"))
        ),
        knows_arguments=given is not None,
        result=ToolResult(span.error, True) if span.error and result is None else result,
    )


def _model(span: Span, session: Optional[str]) -> AgentSpan:
    usage: Any = arguments_of(span.attributes.get(f"{_PREFIX}usage_details"))
    return AgentSpan(
        span,
        "model",
        session,
        model=optional_text(span.attributes.get(f"{_PREFIX}model.name")),
        input_tokens=whole_number(field_of(usage, "input")),
        output_tokens=whole_number(field_of(usage, "output")),
    )
