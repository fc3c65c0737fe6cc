"""OpenTelemetry: the spans of any instrumented agent are watched, and loops written into traces."""

import logging
from contextlib import nullcontext
from typing import Any, List, Mapping, Optional, Tuple

from ._needed import needed

with needed("opentelemetry-sdk", "otel", __name__):
    from opentelemetry import trace
    from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor

from .._checks import check_threshold
from .._latest import Latest
from .._process_lock import ProcessLock
from .._text.masking import safely_shown
from .._text.shortening import visible
from .._trace import to_plain
from ..formats._internal import AgentSpan, Span, agent_span, conversation_of, is_same_call
from ..loop_detection import LoopVerdict
from ..stability import beta
from ._guard import reason_of
from ._lookout import Lookout
from ._span_run import SpanRun, SpanWatch
from .otel_metrics import OtelObserver

_SpanKey = Tuple[str, str]
"""The ids of a trace and a span."""

_OF_AGENTS = ("gen_ai.", "mcp.method.name", "openinference.")

_logger = logging.getLogger("antiloop")
_OPEN_REMEMBERED = 10_000
_DEPTH = 100

__all__ = ["LoopSpanProcessor", "OtelObserver"]


@beta
class LoopSpanProcessor(Lookout, SpanProcessor):
    """Watch the spans of tools, and report loops: ``provider.add_span_processor(...)``.

    A run is a conversation (``gen_ai.conversation.id``, ``session.id``), or else a trace. It is
    watched only: nothing is refused or ended. Each loop is logged as a warning of the logger
    ``antiloop``, and reported to the observers, once in a turn for each action of the policy;
    rounds without a loop are not reported. Nothing is ever raised into the application.

    Args:
        runs: how many runs are remembered, tens of kB each; those heard of last.
        health: an `antiloop.health.HealthWatch`, which receives each run by its id.
        args, options: those of `Lookout`: ``detector``, ``ignore``, ``observers``.

    Raises:
        ValueError: if no run is to be remembered.
    """

    def __init__(
        self, *args: Any, runs: int = 1_000, health: Optional[SpanWatch] = None, **options: Any
    ) -> None:
        super().__init__(*args, **options)
        check_threshold("runs", runs, 1)
        self._health = health
        self._lock = ProcessLock()  # what is logged meanwhile may make spans
        self._open: Latest[_SpanKey, Any] = Latest(_OPEN_REMEMBERED)
        self._runs: Latest[str, SpanRun] = Latest(runs)
        self._of_trace: Latest[str, str] = Latest(runs)
        self._named: Latest[str, None] = Latest(runs)

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        """Remember a span, so that those within it are known to belong to it."""
        try:
            with self._lock:
                self._open[_key_of(span)] = span
                if self._health is not None:
                    self._note_agent(_agent_span_of(span))
        except Exception:
            _logger.exception("a span could not be read; it is ignored")

    def on_end(self, span: ReadableSpan) -> None:
        """Judge the call of a span."""
        try:
            around = self._open.get((_key_of(span)[0], _parent_of(span)))
            run_id, verdicts = self._ended(span)
            for verdict in verdicts:
                said = safely_shown(reason_of(verdict))
                _logger.warning("run %s: %s", visible(run_id, 80), said)
                # Instrumentations that learn of calls afterwards have no current span.
                with trace.use_span(around) if around else nullcontext():
                    self.tell(verdict, run_id)
        except Exception:
            _logger.exception("a span could not be judged; it is ignored")

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Return True, as nothing waits; older SDKs would take None for a failure."""
        return True

    def _ended(self, span: ReadableSpan) -> Tuple[str, List[LoopVerdict]]:
        one = _agent_span_of(span)
        with self._lock:
            self._open.pop(_key_of(span), None)
            if one is None or self._is_copy(one):
                return "", []
            run_id = self._run_id(one)
            if not one.kind:
                return run_id, []
            run = self._runs.get(run_id) or SpanRun(self.monitor(run_id), run_id, self._health)
            self._runs[run_id] = run
            verdicts = run.take(one)
            unknown = [tool for tool in run.without_arguments if tool not in self._named]
            run.without_arguments.clear()
            self._named.update(dict.fromkeys(unknown))
        for tool in unknown:
            _logger.warning("%s", _no_arguments(tool))
        return run_id, verdicts

    def _note_agent(self, one: Optional[AgentSpan]) -> None:
        """Note which agent begins: its span ends after those of the agents that it calls."""
        if self._health is not None and one is not None and one.kind == "agent":
            self._health.add_agent(self._run_id(one), one)

    def _is_copy(self, one: AgentSpan) -> bool:
        outer = self._open.get((one.span.trace_id, one.span.parent_id)) if one.call else None
        return outer is not None and is_same_call(one, _agent_span_of(outer))

    def _run_id(self, one: AgentSpan) -> str:
        """Return the conversation of a span: its own, of a span around it, of its trace."""
        trace_id = one.span.trace_id
        found = one.conversation or self._conversation_around(one.span)
        if found is None:
            return self._of_trace.get(trace_id, trace_id)
        self._of_trace[trace_id] = self._of_trace.get(trace_id, found)
        return found

    def _conversation_around(self, span: Span) -> Optional[str]:
        parent_id = span.parent_id
        for _ in range(_DEPTH):
            outer = self._open.get((span.trace_id, parent_id))
            if outer is None:
                break
            attributes = outer.attributes or {}
            found = conversation_of(attributes) if _is_of_agents(attributes) else None
            if found is not None:
                return found
            parent_id = _parent_of(outer)
        return None


def _no_arguments(tool: str) -> str:
    return (
        f"the spans of tool {safely_shown(tool, 80)!r} do not record its arguments, so its calls"
        " are taken as different from each other; have them recorded, e.g. with"
        " OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true or a setting of your framework"
    )


def _agent_span_of(span: Any) -> Optional[AgentSpan]:
    """Read a span of an agent, a model or a tool; None for any other."""
    attributes = span.attributes or {}
    if not _is_of_agents(attributes):
        return None
    start_ns = span.start_time or 0
    times = (start_ns, max(start_ns, span.end_time or 0))
    events = tuple((event.name, to_plain(event.attributes or {})) for event in span.events)
    ids = (*_key_of(span), _parent_of(span))
    return agent_span(Span(*ids, *times, to_plain(attributes), events, _error(span, events)))


def _is_of_agents(attributes: Mapping[str, Any]) -> bool:
    """Whether the attributes are those of agents, models and tools."""
    return any(key.startswith(_OF_AGENTS) for key in attributes)


def _key_of(span: Any) -> _SpanKey:
    """Return the ids of a span."""
    context = span.get_span_context()
    return f"{context.trace_id:032x}", f"{context.span_id:016x}"


def _parent_of(span: Any) -> str:
    """Return the id of the span that this one is part of; empty for a root."""
    return f"{span.parent.span_id:016x}" if span.parent else ""


def _error(span: Any, events: Tuple[Tuple[str, Mapping[str, Any]], ...]) -> Optional[str]:
    """Return the message of a failure, which may be empty; None if all went well."""
    if span.status.status_code.name != "ERROR":
        return None
    said = [attributes.get("exception.message") for _, attributes in events]
    return next((str(text) for text in (*said, span.status.description) if text), "")
