"""Loops as metrics of Prometheus, through its official client."""

from typing import Any, Mapping

try:
    from prometheus_client import (
        REGISTRY,
        Counter,
        Gauge,
        Histogram,
        generate_latest,
        start_http_server,
    )
except ImportError as error:
    raise ImportError(
        "antiloop.integrations.prometheus needs prometheus-client:"
        ' pip install "antiloop[prometheus]"'
    ) from error

from ..stability import beta
from .shared.loop_metrics import LoopMetrics

_LOOP = ("detector", "tool", "action", "preset", "shadow")
_COUNTERS = {
    "loops": (_LOOP, "Loops that were found, once for each action."),
    "wasted_calls": (_LOOP, "Tool calls of loops that brought nothing new."),
    "wasted_tokens": (_LOOP, "Tokens of these calls' replies."),
    "wasted_cost": (_LOOP, "What these tokens cost."),
    "questions": (("opinion", "preset"), "Questions to a judge."),
}
_SECONDS = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)


@beta
class PrometheusMetrics(LoopMetrics):
    """Count loops: an observer for `AgentConfig` and every adapter.

    The names are those of `OtelMetrics` as Prometheus writes them: ``antiloop_loops_total``,
    ``antiloop_wasted_calls_total``, ``antiloop_suspicion``, ``antiloop_decision_seconds`` and so
    on. One object serves a process.

    Args:
        registry: the registry to use; by default the registry of the client library.
        args, options: those of `LoopMetrics`: ``preset``, ``prices``, ``model``.
    """

    def __init__(self, *args: Any, registry: Any = REGISTRY, **options: Any) -> None:
        super().__init__(*args, **options)
        self._registry = registry
        self._counters = {
            name: Counter(f"antiloop_{name}", about, labels, registry=registry)
            for name, (labels, about) in _COUNTERS.items()
        }
        self._suspicion = Gauge(
            "antiloop_suspicion",
            "How close a run is to being stuck, after the latest round.",
            ("preset",),
            registry=registry,
        )
        self._durations = Histogram(
            "antiloop_decision_seconds",
            "How long deciding about a call or a round took.",
            buckets=_SECONDS,
            registry=registry,
        )

    def serve(self, port: int, address: str = "127.0.0.1") -> Any:
        """Serve the text endpoint in a thread; return the server and its thread."""
        return start_http_server(port, address, self._registry)

    def text(self) -> str:
        """Return what the endpoint shows, for a web framework of your own."""
        shown: bytes = generate_latest(self._registry)
        return shown.decode("utf-8")

    def count(self, name: str, amount: float, labels: Mapping[str, str]) -> None:
        """Add to a counter."""
        self._counters[name].labels(**labels).inc(amount)

    def gauge(self, suspicion: float, labels: Mapping[str, str]) -> None:
        """Set the suspicion."""
        self._suspicion.labels(**labels).set(suspicion)

    def on_decision_time(self, seconds: float) -> None:
        """Record how long a decision took."""
        self._durations.observe(seconds)
