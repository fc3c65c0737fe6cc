"""The engine inside other frameworks: one module for each, which alone imports the framework.

Every adapter has its ``LoopGuard``, which is what the framework hooks in; `otel`, which only
watches, has its ``LoopSpanProcessor``. This package itself gives what an adapter of yours is made
of: `Guard` for a framework that shows a conversation, `stopped` for the words that end a run,
`LoopMetrics` for another system of metrics. No framework is imported here.
"""

from .._lazy import TYPE_CHECKING, lazily

if TYPE_CHECKING:
    from ._guard import Guard, stopped
    from ._loop_metrics import LoopMetrics

__all__ = [
    "Guard",
    "LoopMetrics",
    "stopped",
]

if not TYPE_CHECKING:
    __getattr__ = lazily(
        __name__, {"Guard": "_guard", "stopped": "_guard", "LoopMetrics": "_loop_metrics"}
    )
