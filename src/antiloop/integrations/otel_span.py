"""Spans as the OpenTelemetry SDK holds them, open or ended."""

from typing import Any, Mapping, Optional, Tuple

from ..formats.spans.agent_span import AgentSpan
from ..formats.spans.otlp import agent_span
from ..formats.spans.span import Span
from ..trace import to_plain

Key = Tuple[str, str]
"""The ids of a trace and a span."""

_OF_AGENTS = ("gen_ai.", "mcp.method.name", "openinference.")


def agent_span_of(span: Any) -> Optional[AgentSpan]:
    """Read a span of an agent, a model or a tool; None for any other."""
    attributes = span.attributes or {}
    if not is_of_agents(attributes):
        return None
    start_ns = span.start_time or 0
    times = (start_ns, max(start_ns, span.end_time or 0))
    events = tuple((event.name, to_plain(event.attributes or {})) for event in span.events)
    ids = (*key_of(span), parent_of(span))
    return agent_span(Span(*ids, *times, to_plain(attributes), events, _error(span, events)))


def is_of_agents(attributes: Mapping[str, Any]) -> bool:
    """Whether the attributes are those of agents, models and tools."""
    return any(key.startswith(_OF_AGENTS) for key in attributes)


def key_of(span: Any) -> Key:
    """Return the ids of a span."""
    context = span.get_span_context()
    return f"{context.trace_id:032x}", f"{context.span_id:016x}"


def parent_of(span: Any) -> str:
    """Return the id of the span that this one is part of; empty for a root."""
    return f"{span.parent.span_id:016x}" if span.parent else ""


def _error(span: Any, events: Tuple[Tuple[str, Mapping[str, Any]], ...]) -> Optional[str]:
    """Return the message of a failure, which may be empty; None if all went well."""
    if span.status.status_code.name != "ERROR":
        return None
    said = [attributes.get("exception.message") for _, attributes in events]
    return next((str(text) for text in (*said, span.status.description) if text), "")
