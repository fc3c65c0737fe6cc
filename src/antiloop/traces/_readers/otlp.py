"""OpenTelemetry traces: OTLP JSON and its relatives, one document or one a line.

Spans come in no order, so the whole file is read before the first run is given; of each span only
what bears on calls is held.
"""

from dataclasses import dataclass, field
from typing import Dict, Iterable, Iterator, List, Optional, Tuple

from ..._amounts import total
from ...formats._internal import (
    AgentSpan,
    Span,
    SpanContent,
    agent_span,
    content_of,
    is_span_document,
    spans_of,
    without_copies,
)
from .._recorded_run import RecordedRun, RunEvent
from .._shared.records import OnTrouble, Record
from .._shared.run_under_way import not_by_record

_EVENT_TYPES = {"tool": "tool_call_completed", "model": "llm_call_completed"}
_SpanKey = Tuple[str, str]


recognizes, follow = is_span_document, not_by_record


def read(found: Iterable[Record], name: str, on_trouble: OnTrouble) -> Iterator[RecordedRun]:
    """Yield one run for each conversation, or for each trace that belongs to none."""
    archive = SpanArchive()
    first = 1
    for record in found:
        if recognizes(record.value):
            for span in spans_of(record.value):
                archive.add(record.line, span, agent_span(span))
        else:
            on_trouble(record.line, "")
        first = min(first, record.line)
    if not archive.spans:
        on_trouble(first, "no spans of agents here: gen_ai.*, OpenInference or Langfuse")
    yield from runs_in(archive, name, on_trouble)


def runs_in(archive: "SpanArchive", name: str, on_trouble: OnTrouble) -> Iterator[RecordedRun]:
    """Yield the runs of an archive; say where their arguments are not recorded."""
    for run_id, (line, spans) in archive.runs().items():
        content = content_of(without_copies(spans))
        if content.without_arguments:
            on_trouble(line, _no_arguments(run_id, content.without_arguments))
        yield _run(run_id, f"{name}:{line}", content, spans)


def _no_arguments(run_id: str, count: int) -> str:
    calls, they = ("1 call", "it") if count == 1 else (f"{count} calls", "they")
    have = "has" if count == 1 else "have"
    return (
        f"{calls} of run {run_id!r} {have} no arguments (recording them is opt-in),"
        f" so {they} cannot be compared"
    )


@dataclass
class SpanArchive:
    """The spans of a file, and to which conversation each belongs."""

    spans: List[Tuple[int, AgentSpan]] = field(default_factory=list)
    parents: Dict[_SpanKey, str] = field(default_factory=dict)
    conversations: Dict[_SpanKey, str] = field(default_factory=dict)
    of_trace: Dict[str, str] = field(default_factory=dict)

    def add(self, line: int, span: Span, found: Optional[AgentSpan]) -> None:
        """Take a span, and what it says of an agent's run."""
        self.parents[span.trace_id, span.span_id] = span.parent_id
        if found is not None:
            self.spans.append((line, found))
            if found.conversation is not None:
                self.conversations[span.trace_id, span.span_id] = found.conversation
                self.of_trace.setdefault(span.trace_id, found.conversation)

    def runs(self) -> Dict[str, Tuple[int, List[AgentSpan]]]:
        """Group the spans by run, each group with the line of its first span."""
        groups: Dict[str, Tuple[int, List[AgentSpan]]] = {}
        known: Dict[_SpanKey, Optional[str]] = {**self.conversations}
        for line, found in self.spans:
            run_id = self._conversation_of(found.span, known) or found.span.trace_id or "trace"
            groups.setdefault(run_id, (line, []))[1].append(found)
        return groups

    def _conversation_of(self, span: Span, known: Dict[_SpanKey, Optional[str]]) -> Optional[str]:
        """Return the conversation of a span: its own, that of a span around it, or of its trace.

        Args:
            span: the span.
            known: conversations of spans; those that are passed on the way are added.
        """
        key = span.trace_id, span.span_id
        passed: Dict[_SpanKey, None] = {}  # spans may be around each other
        while key in self.parents and key not in known and key not in passed:
            passed[key] = None
            key = span.trace_id, self.parents[key]
        known.update(dict.fromkeys(passed, known.get(key)))
        return known.get(key) or self.of_trace.get(span.trace_id)


def _run(run_id: str, source: str, content: SpanContent, spans: List[AgentSpan]) -> RecordedRun:
    models = [one for _, one in content.spans if one.kind == "model"]
    history = content.history
    return RecordedRun(
        run_id,
        source=source,
        events=tuple(_events(content)),
        agent=_name(spans),
        model=next((one.model for one in models if one.model), None),
        input_tokens=total(one.input_tokens for one in models),
        output_tokens=total(one.output_tokens for one in models),
        cost=total(one.cost for one in models),
        failed=_has_failed(spans),
        **vars(history),
    )


def _name(spans: List[AgentSpan]) -> Optional[str]:
    """Return the agent's name, else that of the program: the span of the agent may be missing."""
    agents = (one.agent for one in spans if one.agent)
    return next(agents, None) or next((one.span.service for one in spans if one.span.service), None)


def _events(content: SpanContent) -> Iterator[RunEvent]:
    agent: Optional[str] = None
    for step, one in content.spans:
        if one.kind in _EVENT_TYPES:
            yield event_of(step, one)
        elif one.agent is not None:
            if agent is not None and one.agent != agent:
                yield handoff(step, agent, one)
            agent = one.agent


def handoff(step: int, agent: str, one: AgentSpan) -> RunEvent:
    """Make the event of a handoff: the agent of a span goes on after another one."""
    time_s = one.span.start_ns / 1e9 if one.span.start_ns else None
    return RunEvent("handoff_started", step, agent=agent, to_agent=one.agent, time_s=time_s)


def event_of(step: int, one: AgentSpan) -> RunEvent:
    """Make the event of a span of a tool or a model, with what it holds beside call and result."""
    span = one.span
    return RunEvent(
        _EVENT_TYPES[one.kind],
        step,
        tool=one.call.tool_name if one.call else None,
        agent=one.agent,
        model=one.model,
        time_s=span.start_ns / 1e9 if span.start_ns else None,
        latency_ms=(span.end_ns - span.start_ns) / 1e6 if span.start_ns else None,
        cost=one.cost,
        input_tokens=one.input_tokens,
        output_tokens=one.output_tokens,
        tokens=total([one.input_tokens, one.output_tokens]) if one.tokens is None else one.tokens,
        error=span.error,
    )


def _has_failed(spans: List[AgentSpan]) -> bool:
    """Whether an agent ended in an error that no agent around it dealt with."""
    agents = {one.span.span_id: one for one in spans if one.kind == "agent"}
    return any(
        one.span.error is not None and one.span.parent_id not in agents for one in agents.values()
    )
