"""Loops written into the traces and metrics of OpenTelemetry, through its API alone."""

from typing import Any, Dict, Mapping

from ._needed import needed

with needed("opentelemetry-api", "otel", __name__):
    from opentelemetry import metrics, trace

from .._text.masking import safely_shown
from ..agent import AgentObserver
from ..loop_detection._internal import named_calls
from ..stability import beta
from ._loop_metrics import COUNTERS, LoopMetrics, ToolLabels

__all__ = ["OtelMetrics", "OtelObserver"]


@beta
class OtelMetrics(LoopMetrics):
    """Count loops: an observer for `AgentConfig` and every adapter.

    The counters are ``antiloop.runs`` with the attributes outcome and preset; ``antiloop.rounds``,
    ``antiloop.errors`` and ``antiloop.webhook_dropped`` with preset; ``antiloop.loops``,
    ``antiloop.wasted_calls``, ``antiloop.wasted_tokens`` and ``antiloop.wasted_cost`` with
    detector, tool, action, preset and shadow; ``antiloop.questions`` with opinion and preset.
    ``antiloop.suspicion`` is a histogram of all rounds, ``antiloop.decision.duration`` one in
    seconds. Only the API is used: where no SDK is set up, nothing happens.

    Args:
        meter_provider: the provider to use; by default the global one.
        args, options: those of `LoopMetrics`: ``preset``, ``prices``, ``model``.
    """

    def __init__(self, *args: Any, meter_provider: Any = None, **options: Any) -> None:
        super().__init__(*args, **options)
        meter = metrics.get_meter("antiloop", meter_provider=meter_provider)
        self._counters = {
            name: meter.create_counter(f"antiloop.{name}", f"{{{counted}}}", about)
            for name, (counted, _, about) in COUNTERS.items()
        }
        self._durations = meter.create_histogram(
            "antiloop.decision.duration", "s", "How long deciding about a call or a round took."
        )
        self._suspicion = meter.create_histogram(
            "antiloop.suspicion", "1", "How close runs were to being stuck, after each round."
        )
        self.begin()

    def count(self, name: str, amount: float, labels: Mapping[str, str]) -> None:
        """Add to a counter."""
        self._counters[name].add(amount, dict(labels))

    def suspicion(self, value: float, labels: Mapping[str, str]) -> None:
        """Record the suspicion after a round."""
        self._suspicion.record(value, dict(labels))

    def on_decision_time(self, seconds: float) -> None:
        """Record how long a decision took."""
        self._durations.record(seconds)


@beta
class OtelObserver(AgentObserver):
    """Write each loop into the current span, and count it.

    The span gets the attributes ``antiloop.loop.detected`` and ``antiloop.detector.name``, and an
    event ``antiloop.loop.detected`` that names the tools. The counter is
    ``antiloop.loop.detections``. Arguments and results are left out. Only the API is used: where no
    SDK is set up, nothing happens.

    Args:
        meter_provider: the provider to use; by default the global one.
    """

    def __init__(self, meter_provider: Any = None) -> None:
        meter = metrics.get_meter("antiloop", meter_provider=meter_provider)
        self._labels = ToolLabels()
        self._detections = meter.create_counter(
            "antiloop.loop.detections", "{detection}", "Tool-call loops that were found."
        )

    def on_tool_loop_detected(
        self, run_id: str, detector_name: str, details: Mapping[str, Any]
    ) -> None:
        """Add the loop to the current span and the counter."""
        tools = list(dict.fromkeys(safely_shown(tool, 80) for tool, _ in named_calls(details)))
        indices = details.get("indices")
        what: Dict[str, Any] = {"antiloop.detector.name": detector_name}
        counted = dict(what)
        if len(tools) == 1:
            what["gen_ai.tool.name"] = tools[0]
            counted["gen_ai.tool.name"] = self._labels.of(tools[0])
        self._detections.add(1, counted)
        span = trace.get_current_span()
        span.set_attribute("antiloop.loop.detected", True)
        span.set_attribute("antiloop.detector.name", detector_name)
        more = {
            "antiloop.run.id": safely_shown(run_id, 200),
            "antiloop.loop.tools": tools,
            "antiloop.loop.calls": len(indices) if isinstance(indices, list) else 0,
            "antiloop.loop.answer": str(details.get("answer", "unknown")),
        }
        span.add_event("antiloop.loop.detected", {**what, **more})
