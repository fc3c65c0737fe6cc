"""The compact core loop: an agent, its tools, and who watches it."""

from .agent import Agent
from .config import AgentConfig
from .events import (
    AgentEvent,
    LoopDetected,
    ModelReplied,
    OutputRejected,
    RunFinished,
    RunStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from .model_judge import ModelJudge
from .observer import AgentObserver, AsyncAgentObserver, LoggingObserver
from .providers import (
    ModelReply,
    ModelRequest,
    Provider,
    ScriptedProvider,
    ToolSchema,
    Usage,
)
from .result import AgentResult, RunStatus
from .tools import Tool, ToolOptions, tool

__all__ = [
    "Agent",
    "AgentConfig",
    "AgentEvent",
    "AgentObserver",
    "AgentResult",
    "AsyncAgentObserver",
    "LoggingObserver",
    "LoopDetected",
    "ModelJudge",
    "ModelReplied",
    "ModelReply",
    "ModelRequest",
    "OutputRejected",
    "Provider",
    "RunFinished",
    "RunStarted",
    "RunStatus",
    "ScriptedProvider",
    "TextDelta",
    "Tool",
    "ToolFinished",
    "ToolOptions",
    "ToolSchema",
    "ToolStarted",
    "Usage",
    "tool",
]
