"""The events that `Agent.astream` yields, in the order in which they happen."""

from dataclasses import dataclass, field
from typing import Any, Mapping, Union

from .._short_repr import Shown
from ..loop_detection import LoopAction
from ..stability import beta
from ..types import ToolCall, ToolResult
from ._result import AgentResult
from .providers._protocol import ModelReply


@beta
@dataclass(frozen=True, repr=False)
class RunStarted(Shown):
    """The run begins."""

    run_id: str


@beta
@dataclass(frozen=True, repr=False)
class TextDelta(Shown):
    """A piece of the model's text arrived."""

    text: str


@beta
@dataclass(frozen=True, repr=False)
class ModelReplied(Shown):
    """The model's reply is complete."""

    reply: ModelReply


@beta
@dataclass(frozen=True, repr=False)
class OutputRejected(Shown):
    """The answer did not fit the response format; the text so far is void, another try follows."""

    reason: str


@beta
@dataclass(frozen=True, repr=False)
class ToolStarted(Shown):
    """A call is about to run."""

    call: ToolCall


@beta
@dataclass(frozen=True, repr=False)
class ToolFinished(Shown):
    """A call has its result; a call that never ran has one too, and no `ToolStarted`."""

    call: ToolCall
    result: ToolResult


@beta
@dataclass(frozen=True, repr=False)
class LoopDetected(Shown):
    """The agent is stuck, in tool calls or in words."""

    detector_name: str
    message: str
    """The finding, for a person."""
    details: Mapping[str, Any] = field(hash=False)
    action: LoopAction
    """The action that follows."""


@beta
@dataclass(frozen=True, repr=False)
class RunFinished(Shown):
    """The run is over; always the last event, unless an exception ended the run."""

    result: AgentResult


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
