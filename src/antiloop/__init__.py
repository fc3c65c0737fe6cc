"""Notices when an LLM agent is stuck in a tool-call loop, and does something about it.

>>> from antiloop import LoopDetector
>>> monitor = LoopDetector.default().monitor()
>>> for _ in range(3):
...     verdict = monitor.record_call("search", {"q": "cats"}, "no results")
>>> verdict.action.value, verdict.detection.message
('raise', "Tool 'search' was called 3 times in a row with the same arguments.")
"""

from ._lazy import TYPE_CHECKING, by_name, lazily
from .version import __version__ as __version__

if TYPE_CHECKING:
    from ._trace import AgentTrace, StepType, TraceStep
    from .agent import (
        Agent,
        AgentConfig,
        AgentObserver,
        AgentResult,
        AsyncAgentObserver,
        LoggingObserver,
        RunStatus,
        ScriptedProvider,
        tool,
    )
    from .exceptions import AgentError, LoopDetectedError
    from .loop_detection import (
        BaseDetector,
        Escalation,
        LoopAction,
        LoopDetection,
        LoopDetector,
        LoopMonitor,
        LoopPolicy,
        LoopSeverity,
        LoopVerdict,
        PingPongDetector,
        RepeatDetector,
        StallDetector,
        ToolPolicy,
        presets,
    )
    from .types import Message, Role, ToolCall, ToolResult

__all__ = [
    "Agent",
    "AgentConfig",
    "AgentError",
    "AgentObserver",
    "AgentResult",
    "AgentTrace",
    "AsyncAgentObserver",
    "BaseDetector",
    "Escalation",
    "LoggingObserver",
    "LoopAction",
    "LoopDetectedError",
    "LoopDetection",
    "LoopDetector",
    "LoopMonitor",
    "LoopPolicy",
    "LoopSeverity",
    "LoopVerdict",
    "Message",
    "PingPongDetector",
    "RepeatDetector",
    "Role",
    "RunStatus",
    "ScriptedProvider",
    "StallDetector",
    "StepType",
    "ToolCall",
    "ToolPolicy",
    "ToolResult",
    "TraceStep",
    "presets",
    "tool",
]

_HOMES = {
    "agent": (
        "Agent AgentConfig AgentObserver AgentResult AsyncAgentObserver LoggingObserver RunStatus"
        " ScriptedProvider tool"
    ),
    "exceptions": "AgentError LoopDetectedError",
    "loop_detection": (
        "BaseDetector Escalation LoopAction LoopDetection LoopDetector LoopMonitor LoopPolicy"
        " LoopSeverity LoopVerdict PingPongDetector RepeatDetector StallDetector ToolPolicy presets"
    ),
    "_trace": "AgentTrace StepType TraceStep",
    "types": "Message Role ToolCall ToolResult",
}
_SUBPACKAGES = (
    *("agent", "calibration", "exceptions", "explanation", "formats", "health", "integrations"),
    *("loop_detection", "prices", "report", "stability", "testing", "trace", "traces", "types"),
)

if not TYPE_CHECKING:
    __getattr__ = lazily(__name__, {**{name: name for name in _SUBPACKAGES}, **by_name(_HOMES)})

    def __dir__() -> "list[str]":
        return sorted([*__all__, *_SUBPACKAGES, "__version__"])
