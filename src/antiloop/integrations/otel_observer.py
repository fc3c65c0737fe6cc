"""Loops written into traces and metrics."""

from typing import Any, Dict, Mapping

try:
    from opentelemetry import metrics, trace
except ImportError as error:
    raise ImportError(
        'antiloop.integrations.otel_observer needs opentelemetry-api: pip install "antiloop[otel]"'
    ) from error

from ..agent import AgentObserver
from ..loop_detection.detection import named_calls
from ..loop_detection.text.shortening import visible
from ..stability import beta


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
        self._detections = meter.create_counter(
            "antiloop.loop.detections", "{detection}", "Tool-call loops that were found."
        )

    def on_tool_loop_detected(
        self, run_id: str, detector_name: str, details: Mapping[str, Any]
    ) -> None:
        """Add the loop to the current span and the counter."""
        tools = list(dict.fromkeys(visible(tool, 80) for tool, _ in named_calls(details)))
        indices = details.get("indices")
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
            "antiloop.loop.calls": len(indices) if isinstance(indices, list) else 0,
            "antiloop.loop.answer": str(details.get("answer", "unknown")),
        }
        span.add_event("antiloop.loop.detected", {**what, **more})
