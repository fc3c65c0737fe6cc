"""OpenTelemetry traces of agents: the spans of tools and models, as calls and results."""

from dataclasses import dataclass, replace
from typing import Any, Dict, Iterable, List, Optional, Set, Tuple

from ...stability import beta
from ...types import Role, ToolCall, ToolResult
from .._content import arguments_of, tag_of, text_of
from .._growing_history import GrowingHistory
from .._history import History, round_of_unseen, unlike_others
from .agent_span import AgentSpan
from .flat_calls import Columns, fits, flat_agent_span
from .gen_ai import from_gen_ai
from .openinference import from_openinference
from .span import Span, spans_of
from .span_rounds import in_rounds

_LANGFUSE = "langfuse.observation."
_COLUMNS = Columns(
    kind=f"{_LANGFUSE}type",
    needed=(),
    kinds={"tool": "tool", "generation": "model", "agent": "agent"},
    arguments=f"{_LANGFUSE}input",
    result=f"{_LANGFUSE}output",
    session="session.id",
    model=f"{_LANGFUSE}model.name",
    input_tokens="usage.input",
    output_tokens="usage.output",
)


def from_langfuse_span(span: Span) -> Optional[AgentSpan]:
    """Read one span; None if it is not one of Langfuse."""
    given = span.attributes
    if not fits(given, _COLUMNS):
        return None
    if span.error is None and tag_of(given, f"{_LANGFUSE}level") == "ERROR":
        span = replace(span, error=text_of(given.get(f"{_LANGFUSE}status_message")))
    usage = arguments_of(given.get(f"{_LANGFUSE}usage_details"))
    return flat_agent_span({**given, "name": span.name, "usage": usage}, _COLUMNS, span)


@beta
def from_otlp(documents: Iterable[Any]) -> History:
    """Read the tool calls of one agent run out of its OpenTelemetry spans.

    Args:
        documents: OTLP JSON values with the spans of one run, in any order. Spans of agents are
            those after OpenTelemetry's conventions for generative AI, or after OpenInference.

    Returns:
        All calls, by the time at which they began. Calls between two replies of a model, or that
        overlap in time under one parent, are one round.

    >>> def text(key, value):
    ...     return {"key": key, "value": {"stringValue": value}}
    >>> span = {"spanId": "b7ad6b7169203331", "attributes": [
    ...     text("gen_ai.operation.name", "execute_tool"), text("gen_ai.tool.name", "search"),
    ...     text("gen_ai.tool.call.arguments", '{"q": "cats"}')]}
    >>> from_otlp([{"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}]).calls[0].arguments
    {'q': 'cats'}
    """
    found = (agent_span(span) for document in documents for span in spans_of(document))
    return content_of(without_copies(filter(None, found))).history


def agent_span(span: Span) -> Optional[AgentSpan]:
    """Read one span in the convention that it follows, and forget what is of no use here."""
    found = from_gen_ai(span)
    for convention in (from_openinference, from_langfuse_span):
        if found is None or not found.kind:
            found = convention(span) or found
    return found and replace(found, span=replace(span, attributes={}, events=()))


def without_copies(found: Iterable[AgentSpan]) -> List[AgentSpan]:
    """Drop what was exported again, and keep the later of two states of one span."""
    kept: Dict[Tuple[str, str], AgentSpan] = {}
    for one in found:
        key = one.span.trace_id, one.span.span_id or str(len(kept))
        if key not in kept or one.span.end_ns > kept[key].span.end_ns:
            kept[key] = one
    return list(kept.values())


@dataclass(frozen=True)
class SpanContent:
    """The content of the spans of one run."""

    history: History
    spans: Tuple[Tuple[int, AgentSpan], ...]
    """Spans of tools and models, in order, each with the number of calls before it."""
    without_arguments: int = 0
    """Calls with unknown arguments, each treated as different from all others."""


def content_of(found: Iterable[AgentSpan]) -> SpanContent:
    """Sort the spans of one run, and read them as calls and results."""
    ordered = sorted(found, key=lambda one: (one.span.start_ns, one.span.span_id))
    tools = {one.span.span_id: one for one in ordered if one.kind == "tool"}
    kept = [one for one in ordered if one.kind and not _is_within_itself(one, tools)]
    records = any(one.knows_arguments for one in tools.values())
    requests = (call for one in kept for call in one.requests)
    reader = _SpanReader(bool(tools), records, any(call.arguments is not None for call in requests))
    for round_, one, asked in in_rounds(kept):
        reader.add_span(round_, one, asked)
    return reader.content()


def _is_within_itself(one: AgentSpan, tools: Dict[str, AgentSpan]) -> bool:
    outer = tools.get(one.span.parent_id) if one.span.parent_id else None
    return outer is not one and is_same_call(one, outer)


def is_same_call(one: AgentSpan, outer: Optional[AgentSpan]) -> bool:
    """Whether a span within another is the same call again, as e.g. one of MCP itself."""
    if outer is None or one.call is None or outer.call is None:
        return False
    return one.call.tool_name == outer.call.tool_name


class _SpanReader(GrowingHistory):
    """Collects what the spans of one run tell, in order.

    Args:
        has_tools: or else the calls are those that the models ask for.
        records_arguments: whether any tool's span does; then one without them had none.
        writes_arguments: the same of what the models ask for.
    """

    def __init__(self, has_tools: bool, records_arguments: bool, writes_arguments: bool) -> None:
        super().__init__()
        self.has_tools = has_tools
        self.records_arguments = records_arguments
        self.writes_arguments = writes_arguments
        self.spans: List[Tuple[int, AgentSpan]] = []
        self.by_id: Dict[str, Optional[int]] = {}
        self.traces: Set[str] = set()
        self.unknown = 0

    def add_span(self, round_: int, one: AgentSpan, asked: Optional[ToolCall]) -> None:
        """Take the next span, for a tool with what the model asked of it."""
        self._note_trace(one)
        self.spans.append((len(self.calls), one))
        if one.call is not None:
            call = self._completed(one, one.call, asked)
            begun, took = one.span.start_ns / 1e9 or None, one.span.end_ns - one.span.start_ns
            result = one.result and replace(one.result, duration_s=took / 1e9 if begun else None)
            self._add_call(replace(call, round=round_, started_at=begun), result)
        for call_id, result in one.answers:
            self._answer(call_id, result)
        if one.user_spoke:
            self.turn_starts.append(len(self.calls))
        self._add_message(Role.USER, one.heard)
        self._add_message(Role.ASSISTANT, one.thought, is_thought=True)
        self._add_message(Role.ASSISTANT, one.said)
        for call in () if self.has_tools else one.requests:
            self._add_call(replace(self._asked(one, call), round=round_), None)

    def content(self) -> SpanContent:
        """Return what was read."""
        return SpanContent(self.build(), tuple(self.spans), self.unknown)

    def _note_trace(self, one: AgentSpan) -> None:
        """Take a further trace of a conversation as a new turn, unless its messages are there."""
        if one.span.trace_id not in self.traces and self.traces and one.user_spoke is None:
            self.turn_starts.append(len(self.calls))
        self.traces.add(one.span.trace_id)

    def _add_call(self, call: ToolCall, result: Optional[ToolResult]) -> None:
        if call.id and result is None:
            self.by_id[call.id] = len(self.calls)
        self.add(call, result)

    def _answer(self, call_id: str, result: ToolResult) -> None:
        if call_id not in self.by_id and call_id and not self.has_tools:
            self._add_unseen(call_id)
        index = self.by_id.get(call_id)
        if index is not None:
            self.results[index] = result
            self.by_id[call_id] = None

    def _add_unseen(self, call_id: str) -> None:
        round_ = round_of_unseen(self.calls, self.turn_starts)
        call = ToolCall("", id=call_id, round=round_)
        self._add_call(unlike_others(call, f"call {call_id}"), None)

    def _asked(self, one: AgentSpan, call: ToolCall) -> ToolCall:
        """Return a call without a span of a tool."""
        if call.arguments is not None or self.writes_arguments:
            return call
        self.unknown += 1
        return like_no_other(one, call)

    def _completed(self, one: AgentSpan, call: ToolCall, asked: Optional[ToolCall]) -> ToolCall:
        """Return a call with the arguments that the model wrote; without those, a unique call."""
        found = completed(one, call, asked, self.records_arguments)
        self.unknown += found is None
        return found or like_no_other(one, call)


def completed(
    one: AgentSpan, call: ToolCall, asked: Optional[ToolCall], records_arguments: bool
) -> Optional[ToolCall]:
    """Return a call with the arguments that the model wrote, if its span lacks them.

    Args:
        one: the span of a tool.
        call: what it says of the call.
        asked: what the model asked for, if that is known.
        records_arguments: whether spans of the run do; then one without them had none.

    Returns:
        None if the arguments are unknown.
    """
    if asked is not None:
        call = replace(call, id=call.id or asked.id)
    if isinstance(call.arguments, dict):
        return call
    if asked is not None and asked.arguments is not None:
        return replace(call, arguments=asked.arguments)
    return call if one.knows_arguments or records_arguments else None


def like_no_other(one: AgentSpan, call: ToolCall) -> ToolCall:
    """Return a call without known arguments with unique ones."""
    return unlike_others(call, f"span {one.span.span_id}")
