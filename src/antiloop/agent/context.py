"""Everything that one run knows about itself."""

from dataclasses import dataclass, field, replace
from typing import Any, List, Optional, Sequence, Union

from ..frozen import frozen
from ..loop_detection import LoopAction, LoopDetection, LoopMonitor, LoopVerdict
from ..loop_detection.verdict import GO_ON
from ..trace import AgentTrace, StepType, TraceStep
from ..types import Message, Role, ToolCall, ToolResult
from .config import AgentConfig
from .output import ResponseFormat
from .providers.protocol import ModelReply, ModelRequest, Usage
from .result import AgentResult, RunStatus
from .tools.toolbox import Toolbox


def _text(given: Any) -> str:
    """Return what a provider gave as text if it is one, else none: the run goes on."""
    return given if isinstance(given, str) else ""


@dataclass
class _Round:
    """The calls of one reply, what came back, and what the monitor said before they ran."""

    calls: List[ToolCall] = field(default_factory=list)
    results: List[ToolResult] = field(default_factory=list)
    ending: Optional[LoopVerdict] = None
    """A verdict that ends the run before the round's calls run."""


@dataclass
class _RunContext:
    """The state of one run; only the core loop changes it."""

    run_id: str
    config: AgentConfig
    toolbox: Toolbox
    messages: List[Message]
    """The conversation so far."""
    monitor: Optional[LoopMonitor] = None
    response_format: Optional[ResponseFormat] = None
    iteration: int = 0
    """Counted from 1; 0 before the first."""
    retries: int = 0
    """Answers that did not fit the response format."""
    words: LoopVerdict = GO_ON
    """What the monitor says of the latest reply's text."""
    round: _Round = field(default_factory=_Round)
    calls: List[ToolCall] = field(default_factory=list)
    results: List[ToolResult] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    steps: List[TraceStep] = field(default_factory=list)
    final_message: Optional[Message] = None
    output: Any = None
    detection: Optional[LoopDetection] = None
    error: Optional[str] = None

    def record(self, kind: StepType, summary: str, **data: Any) -> None:
        """Write a trace step."""
        self.steps.append(TraceStep(kind, summary, data))

    def say(self, role: Role, text: str) -> None:
        """Add a message to the conversation."""
        self.messages.append(Message(role, text))

    def request(self) -> ModelRequest:
        """Return the next question to the model."""
        schema = self.response_format.schema if self.response_format else None
        return ModelRequest(tuple(self.messages), self.toolbox.schemas, schema)

    @property
    def is_stuck_in_words(self) -> bool:
        """Whether something is to be done about the latest reply's text."""
        return self.words.action is not LoopAction.CONTINUE

    @property
    def _is_found_in_words(self) -> bool:
        return self.words.reported.action is not LoopAction.CONTINUE

    def hear(self, piece: str) -> bool:
        """Take a piece of the reply that is under way, and say whether the rest is not needed."""
        if self.monitor is not None and not self._is_found_in_words:
            self.words = self.monitor.saying(_text(piece))
        return self.is_stuck_in_words

    def hear_all(self, text: str) -> None:
        """Take the whole text of a reply, after its pieces if it was streamed."""
        verdict = self.monitor.said(_text(text)) if self.monitor is not None else GO_ON
        self.words = self.words if self._is_found_in_words else verdict

    def take_reply(self, reply: ModelReply) -> None:
        """Add the model's reply to the conversation and the bill."""
        self.usage = self.usage + reply.usage
        self.final_message = Message(Role.ASSISTANT, reply.text, reply.tool_calls)
        self.messages.append(self.final_message)
        names = ", ".join(call.tool_name for call in reply.tool_calls)
        self.record(
            StepType.MODEL_CALL,
            f"The model asked for {names}." if names else "The model answered.",
            text=reply.text,
            tool_calls=len(reply.tool_calls),
            iteration=self.iteration,
        )

    def take_result(self, call: ToolCall, result: ToolResult) -> None:
        """Add a call's result to the conversation and the record."""
        for calls, results in ((self.calls, self.results), (self.round.calls, self.round.results)):
            calls.append(call)
            results.append(result)
        self.messages.append(
            Message(Role.TOOL, result.text, tool_call_id=call.id, is_error=result.is_error)
        )
        self.record(
            StepType.TOOL_CALL,
            f"{call.tool_name} {'failed' if result.is_error else 'answered'}.",
            tool_name=call.tool_name,
            arguments=call.arguments,
            result=result.text,
            is_error=result.is_error,
            round=call.round,
            id=call.id,
        )

    def result(self, status: RunStatus) -> AgentResult:
        """Return what the run has achieved up to here."""
        return AgentResult(
            run_id=self.run_id,
            status=status,
            final_message=self.final_message,
            output=self.output,
            iterations=self.iteration,
            tool_calls=tuple(self.calls),
            tool_results=tuple(self.results),
            messages=tuple(self.messages),
            usage=self.usage,
            trace=AgentTrace(self.run_id, tuple(self.steps)),
            detection=self.detection,
            error=self.error,
        )


def start_conversation(
    prompt: Union[str, Sequence[Message]], system_prompt: Optional[str]
) -> List[Message]:
    """Return the messages that a run begins with.

    Args:
        prompt: what the user says, or a conversation to go on with.
        system_prompt: put first, unless the conversation begins with a system message.

    Raises:
        TypeError: for a prompt that is neither a text nor a list of messages.
    """
    messages = [Message(Role.USER, prompt)] if isinstance(prompt, str) else _messages(prompt)
    has_system = bool(messages) and messages[0].role is Role.SYSTEM
    if system_prompt is not None and not has_system:
        messages.insert(0, Message(Role.SYSTEM, system_prompt))
    return messages


def _messages(prompt: Any) -> List[Message]:
    if not hasattr(prompt, "__iter__"):
        raise TypeError(f"the prompt must be a text or a list of Message, got {prompt!r}")
    messages = list(prompt)
    for at, each in enumerate(messages):
        if not isinstance(each, Message):
            raise TypeError(f"the prompt must hold Message objects; number {at} is {each!r}")
    return [_owned(message) for message in messages]


def owned(call: ToolCall, round_: Optional[int]) -> ToolCall:
    """Return a call of a round as it is now: what is changed in its arguments later does not count.

    Otherwise tools, observers and readers of the events could change the model's messages.
    """
    return replace(call, arguments=frozen(call.arguments), round=round_)


def _owned(message: Message) -> Message:
    if not message.tool_calls:
        return message
    return replace(
        message, tool_calls=tuple(owned(call, call.round) for call in message.tool_calls)
    )
