"""The compact core loop: an agent, its tools, and who watches it."""

from ._agent import Agent
from ._config import AgentConfig
from ._events import (
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
from ._model_judge import ModelJudge
from ._observer import AgentObserver, AsyncAgentObserver, LoggingObserver
from ._result import AgentResult, RunStatus
from ._tools import Tool, ToolOptions, tool
from .providers._protocol import (
    ModelReply,
    ModelRequest,
    Provider,
    ReplyEnd,
    StreamItem,
    Thought,
    ToolSchema,
    Usage,
)
from .providers._scripted import ScriptedProvider

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
    "ReplyEnd",
    "RunFinished",
    "RunStarted",
    "RunStatus",
    "ScriptedProvider",
    "StreamItem",
    "TextDelta",
    "Thought",
    "Tool",
    "ToolFinished",
    "ToolOptions",
    "ToolSchema",
    "ToolStarted",
    "Usage",
    "tool",
]
