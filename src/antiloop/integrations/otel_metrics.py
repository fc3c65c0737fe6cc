"""Loops as metrics of OpenTelemetry."""

from typing import Any, Dict, Iterable, Mapping

try:
    from opentelemetry import metrics
except ImportError as error:
    raise ImportError(
        'antiloop.integrations.otel_metrics needs opentelemetry-api: pip install "antiloop[otel]"'
    ) from error

from ..stability import beta
from .shared.loop_metrics import LoopMetrics

_COUNTERS = {
    "loops": ("{loop}", "Loops that were found, once for each action."),
    "wasted_calls": ("{call}", "Tool calls of loops that brought nothing new."),
    "wasted_tokens": ("{token}", "Tokens of these calls' replies."),
    "wasted_cost": ("{currency}", "What these tokens cost."),
    "questions": ("{question}", "Questions to a judge."),
}


@beta
class OtelMetrics(LoopMetrics):
    """Count loops: an observer for `AgentConfig` and every adapter.

    The counters are ``antiloop.loops``, ``antiloop.wasted_calls``, ``antiloop.wasted_tokens`` and
    ``antiloop.wasted_cost`` with the attributes detector, tool, action, preset and shadow, and
    ``antiloop.questions`` with opinion and preset. ``antiloop.suspicion`` is a gauge of the latest
    verdict, ``antiloop.decision.duration`` a histogram in seconds. Only the API is used: where no
    SDK is set up, nothing happens.

    Args:
        meter_provider: the provider to use; by default the global one.
        args, options: those of `LoopMetrics`: ``preset``, ``prices``, ``model``.
    """

    def __init__(self, *args: Any, meter_provider: Any = None, **options: Any) -> None:
        super().__init__(*args, **options)
        meter = metrics.get_meter("antiloop", meter_provider=meter_provider)
        self._suspicion: Dict[str, float] = {}
        self._counters = {
            name: meter.create_counter(f"antiloop.{name}", unit, about)
            for name, (unit, about) in _COUNTERS.items()
        }
        self._durations = meter.create_histogram(
            "antiloop.decision.duration", "s", "How long deciding about a call or a round took."
        )
        meter.create_observable_gauge(
            "antiloop.suspicion",
            [self._observed],
            "1",
            "How close a run is to being stuck, after the latest round.",
        )

    def count(self, name: str, amount: float, labels: Mapping[str, str]) -> None:
        """Add to a counter."""
        self._counters[name].add(amount, dict(labels))

    def gauge(self, suspicion: float, labels: Mapping[str, str]) -> None:
        """Keep the suspicion until it is asked for."""
        self._suspicion[labels["preset"]] = suspicion

    def on_decision_time(self, seconds: float) -> None:
        """Record how long a decision took."""
        self._durations.record(seconds)

    def _observed(self, options: Any) -> Iterable[Any]:
        return [
            metrics.Observation(value, {"preset": preset})
            for preset, value in self._suspicion.items()
        ]
