"""OpenTelemetry: the spans of any instrumented agent are watched, and loops written into traces."""

import logging
from contextlib import nullcontext
from threading import Lock
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple, TypeVar

try:
    from opentelemetry import metrics, trace
    from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
    from opentelemetry.trace import StatusCode
except ImportError as error:
    raise ImportError(
        'antiloop.integrations.otel needs opentelemetry-sdk: pip install "antiloop[otel]"'
    ) from error

from ..agent import AgentObserver
from ..formats.agent_span import AgentSpan
from ..formats.gen_ai import conversation_of
from ..formats.otlp import agent_span, is_same_call
from ..formats.spans import Span
from ..loop_detection import LoopDetector, LoopVerdict
from ..loop_detection.messages import visible
from ..trace import to_plain
from .guard import Guard
from .span_run import SpanRun

_logger = logging.getLogger("antiloop")
_OPEN_REMEMBERED = 10_000
_DEPTH = 100
_OF_AGENTS = ("gen_ai.", "mcp.method.name", "openinference.")
V = TypeVar("V")
Key = Tuple[str, str]


class LoopSpanProcessor(Guard, SpanProcessor):
    """Watch the spans of tools, and report loops: ``provider.add_span_processor(...)``.

    A run is a conversation (``gen_ai.conversation.id``, ``session.id``), or else a trace. It is
    watched only: nothing is refused or ended. Each loop is logged as a warning of the logger
    ``antiloop``, and told to the observers, once for each action of the policy that it is worth.
    Nothing is ever raised into the application.

    Args:
        detector: what looks for loops; the escalating preset where left out.
        ignore: names of tools whose calls are no evidence.
        observers: are told of each loop; what they raise is logged.
        runs: how many runs are remembered, a few kB each; those heard of last.

    Raises:
        TypeError: for one name where names are meant.
        ValueError: if no run is to be remembered.
    """

    def __init__(
        self,
        detector: Optional[LoopDetector] = None,
        *,
        ignore: Iterable[str] = (),
        observers: Iterable[AgentObserver] = (),
        runs: int = 1_000,
    ) -> None:
        super().__init__(detector, ignore=ignore, observers=observers)
        if runs < 1:
            raise ValueError(f"runs must be 1 or more, got {runs}")
        self._size = runs
        self._lock = Lock()
        self._open: Dict[Key, Any] = {}
        self._runs: Dict[str, SpanRun] = {}
        self._of_trace: Dict[str, str] = {}
        self._named: Dict[str, None] = {}

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        """Remember a span, so that those within it are known to belong to it."""
        try:
            with self._lock:
                _keep(self._open, _key(span), span, _OPEN_REMEMBERED)
        except Exception:
            _logger.exception("a span could not be read; it is left out")

    def on_end(self, span: ReadableSpan) -> None:
        """Judge the call that a span tells of."""
        try:
            around = self._open.get((_key(span)[0], _parent_id(span)))
            run_id, verdicts = self._ended(span)
            for verdict in verdicts:
                _logger.warning("run %s: %s", visible(run_id, 80), visible(_message(verdict)))
                # Instrumentations that learn of calls afterwards have no current span.
                with trace.use_span(around) if around else nullcontext():
                    self.tell(verdict, run_id)
        except Exception:
            _logger.exception("a span could not be judged; it is left out")

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Say that nothing waits; older SDKs would take no answer for a failure."""
        return True

    def _ended(self, span: ReadableSpan) -> Tuple[str, List[LoopVerdict]]:
        one = _read(span)
        with self._lock:
            self._open.pop(_key(span), None)
            if one is None or self._is_copy(one):
                return "", []
            run_id = self._run_id(one)
            if not one.kind:
                return run_id, []
            run = self._runs.pop(run_id, None) or SpanRun(self.monitor())
            _keep(self._runs, run_id, run, self._size)
            verdicts = run.take(one)
            unknown = [tool for tool in run.without_arguments if tool not in self._named]
            for tool in unknown:
                _keep(self._named, tool, None, self._size)
        for tool in unknown:
            _logger.warning("%s", _no_arguments(tool))
        return run_id, verdicts

    def _is_copy(self, one: AgentSpan) -> bool:
        outer = self._open.get((one.span.trace_id, one.span.parent_id)) if one.call else None
        return outer is not None and is_same_call(one, _read(outer))

    def _run_id(self, one: AgentSpan) -> str:
        """Give the conversation of a span: its own, of a span around it, of its trace."""
        trace_id = one.span.trace_id
        found = one.conversation or self._conversation_around(one.span)
        if found is None:
            return self._of_trace.get(trace_id, trace_id)
        _keep(self._of_trace, trace_id, self._of_trace.get(trace_id, found), self._size)
        return found

    def _conversation_around(self, span: Span) -> Optional[str]:
        parent_id = span.parent_id
        for _ in range(_DEPTH):
            outer = self._open.get((span.trace_id, parent_id))
            if outer is None:
                break
            told = outer.attributes or {}
            found = conversation_of(told) if _is_of_agents(told) else None
            if found is not None:
                return found
            parent_id = _parent_id(outer)
        return None


class OtelObserver(AgentObserver):
    """Write each loop into the current span, and count it.

    The span gets the attributes ``antiloop.loop.detected`` and ``antiloop.detector.name``, and an
    event ``antiloop.loop.detected`` that names the tools. The counter is
    ``antiloop.loop.detections``. Arguments and results are left out. Only the API is used: where no
    SDK is set up, nothing happens.

    Args:
        meter_provider: where the counter belongs; the global one where left out.
    """

    def __init__(self, meter_provider: Any = None) -> None:
        meter = metrics.get_meter("antiloop", meter_provider=meter_provider)
        self._detections = meter.create_counter(
            "antiloop.loop.detections", "{detection}", "Tool-call loops that were found."
        )

    def on_tool_loop_detected(
        self, run_id: str, detector_name: str, details: Mapping[str, Any]
    ) -> None:
        """Tell the current span and the counter."""
        calls = details.get("calls", ())
        tools = list(dict.fromkeys(visible(str(call["tool"]), 80) for call in calls))
        what: Dict[str, Any] = {"antiloop.detector.name": detector_name}
        if len(tools) == 1:
            what["gen_ai.tool.name"] = tools[0]
        self._detections.add(1, what)
        span = trace.get_current_span()
        span.set_attribute("antiloop.loop.detected", True)
        span.set_attribute("antiloop.detector.name", detector_name)
        more = {
            "antiloop.run.id": run_id,
            "antiloop.loop.tools": tools,
            "antiloop.loop.calls": len(details.get("indices", ())),
            "antiloop.loop.answer": str(details.get("answer", "unknown")),
        }
        span.add_event("antiloop.loop.detected", {**what, **more})


def _keep(held: Dict[Any, V], key: Any, value: V, size: int) -> None:
    """Hold a value as the latest, and forget the oldest if there are too many."""
    held.pop(key, None)
    held[key] = value
    if len(held) > size:
        del held[next(iter(held))]


def _read(span: Any) -> Optional[AgentSpan]:
    told = span.attributes or {}
    if not _is_of_agents(told):
        return None
    trace_id, span_id = _key(span)
    events = tuple((event.name, to_plain(event.attributes or {})) for event in span.events)
    start_ns = span.start_time or 0
    end_ns = max(start_ns, span.end_time or 0)
    return agent_span(
        Span(
            trace_id,
            span_id,
            _parent_id(span),
            start_ns,
            end_ns,
            to_plain(told),
            events,
            _error(span, events),
        )
    )


def _is_of_agents(told: Mapping[str, Any]) -> bool:
    return any(key.startswith(_OF_AGENTS) for key in told)


def _key(span: Any) -> Key:
    context = span.get_span_context()
    return f"{context.trace_id:032x}", f"{context.span_id:016x}"


def _parent_id(span: Any) -> str:
    return f"{span.parent.span_id:016x}" if span.parent else ""


def _error(span: Any, events: Tuple[Tuple[str, Mapping[str, Any]], ...]) -> Optional[str]:
    """Give the message of a failure, which may be empty; None if all went well."""
    if span.status.status_code is not StatusCode.ERROR:
        return None
    said = [told.get("exception.message") for _, told in events]
    return next((str(text) for text in (*said, span.status.description) if text), "")


def _message(verdict: LoopVerdict) -> str:
    return verdict.detection.message if verdict.detection else ""


def _no_arguments(tool: str) -> str:
    return (
        f"the spans of tool {visible(tool, 80)!r} do not record its arguments, so its calls are"
        " taken as different from each other; have them recorded, e.g. with"
        " OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true or a setting of your framework"
    )
