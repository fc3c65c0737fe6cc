"""The events that `Agent.astream` yields, in the order in which they happen."""

from dataclasses import dataclass, field
from typing import Any, Mapping, Union

from .._short_repr import repr_of_fields
from ..loop_detection import LoopAction
from ..stability import beta
from ..types import ToolCall, ToolResult
from ._result import AgentResult
from .providers._protocol import ModelReply


@beta
@dataclass(frozen=True)
class RunStarted:
    """The run begins."""

    run_id: str

    __repr__ = repr_of_fields


@beta
@dataclass(frozen=True)
class TextDelta:
    """A piece of the model's text arrived."""

    text: str

    __repr__ = repr_of_fields


@beta
@dataclass(frozen=True)
class ModelReplied:
    """The model's reply is complete."""

    reply: ModelReply

    __repr__ = repr_of_fields


@beta
@dataclass(frozen=True)
class OutputRejected:
    """The answer did not fit the response format; the text so far is void, another try follows."""

    reason: str

    __repr__ = repr_of_fields


@beta
@dataclass(frozen=True)
class ToolStarted:
    """A call is about to run."""

    call: ToolCall

    __repr__ = repr_of_fields


@beta
@dataclass(frozen=True)
class ToolFinished:
    """A call has its result; a call that never ran has one too, and no `ToolStarted`."""

    call: ToolCall
    result: ToolResult

    __repr__ = repr_of_fields


@beta
@dataclass(frozen=True)
class LoopDetected:
    """The agent is stuck, in tool calls or in words."""

    detector_name: str
    message: str
    """The finding, for a person."""
    details: Mapping[str, Any] = field(hash=False)
    action: LoopAction
    """The action that follows."""

    __repr__ = repr_of_fields


@beta
@dataclass(frozen=True)
class RunFinished:
    """The run is over; always the last event, unless an exception ended the run."""

    result: AgentResult

    __repr__ = repr_of_fields


AgentEvent = Union[
    RunStarted,
    TextDelta,
    ModelReplied,
    OutputRejected,
    ToolStarted,
    ToolFinished,
    LoopDetected,
    RunFinished,
]
