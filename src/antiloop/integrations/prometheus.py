"""Loops as metrics of Prometheus, through its official client."""

import os
from typing import Any, Mapping

from ._needed import needed

with needed("prometheus-client", "prometheus", __name__):
    from prometheus_client import (
        REGISTRY,
        CollectorRegistry,
        Counter,
        Histogram,
        generate_latest,
        start_http_server,
    )
    from prometheus_client.multiprocess import MultiProcessCollector

from ..stability import beta
from ._loop_metrics import COUNTERS, SUSPICIONS, LoopMetrics

__all__ = ["PrometheusMetrics"]

_SECONDS = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)


@beta
class PrometheusMetrics(LoopMetrics):
    """Count loops: an observer for `AgentConfig` and every adapter.

    The names are those of `OtelMetrics` as Prometheus writes them: ``antiloop_runs_total``,
    ``antiloop_loops_total``, ``antiloop_suspicion``, ``antiloop_decision_seconds`` and so on. One
    object serves a process. With ``PROMETHEUS_MULTIPROC_DIR`` set, `serve` and `text` show the
    counts of all processes.

    Args:
        registry: the registry to use; by default the registry of the client library.
        args, options: those of `LoopMetrics`: ``preset``, ``prices``, ``model``.
    """

    def __init__(self, *args: Any, registry: Any = REGISTRY, **options: Any) -> None:
        super().__init__(*args, **options)
        self._registry = registry
        self._counters = {
            name: Counter(f"antiloop_{name}", about, labels, registry=registry)
            for name, (_, labels, about) in COUNTERS.items()
        }
        self._suspicion = Histogram(
            "antiloop_suspicion",
            "How close runs were to being stuck, after each round.",
            ("preset",),
            buckets=SUSPICIONS,
            registry=registry,
        )
        self._durations = Histogram(
            "antiloop_decision_seconds",
            "How long deciding about a call or a round took.",
            buckets=_SECONDS,
            registry=registry,
        )
        self._suspicion.labels(self._preset)
        self.begin()

    def serve(self, port: int, address: str = "127.0.0.1") -> Any:
        """Serve the text endpoint in a thread; return the server and its thread."""
        return start_http_server(port, address, self._shown())

    def text(self) -> str:
        """Return what the endpoint shows, for a web framework of your own."""
        shown: bytes = generate_latest(self._shown())
        return shown.decode("utf-8")

    def count(self, name: str, amount: float, labels: Mapping[str, str]) -> None:
        """Add to a counter."""
        self._counters[name].labels(**labels).inc(amount)

    def _shown(self) -> Any:
        if not os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
            return self._registry
        registry = CollectorRegistry()
        MultiProcessCollector(registry)
        return registry

    def suspicion(self, value: float, labels: Mapping[str, str]) -> None:
        """Record the suspicion after a round."""
        self._suspicion.labels(**labels).observe(value)

    def on_decision_time(self, seconds: float) -> None:
        """Record how long a decision took."""
        self._durations.observe(seconds)
