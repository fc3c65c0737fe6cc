"""Everything that one run knows about itself."""

from dataclasses import dataclass, field, replace
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from .._frozen import frozen
from .._short_repr import held
from .._trace import AgentTrace, StepType, TraceStep
from ..loop_detection import LoopAction, LoopDetection, LoopMonitor, LoopVerdict
from ..loop_detection._internal import GO_ON, NOTICE_MARKER
from ..types import Message, Role, ToolCall, ToolResult
from ._config import AgentConfig
from ._output import RETRY_MARKER, ResponseFormat
from ._result import AgentResult, RunStatus
from ._tools.toolbox import Toolbox
from .providers._calls import with_call_ids
from .providers._protocol import ModelReply, ModelRequest, Provider, ReplyEnd, Thought, Usage
from .providers._wire import shows_compaction

INTERRUPTED = (
    "The run was interrupted before this call gave a result. It may have had its effect: look"
    " before you repeat it."
)
"""The result that the model reads for a call that has none."""


def _text(given: Any) -> str:
    """Return what a provider gave as text if it is one, else none: the run goes on."""
    return given if isinstance(given, str) else ""


def _opaque(source: Union[ModelReply, ToolCall]) -> Dict[str, Any]:
    """Return the provider data for a trace step, if there is some."""
    return {} if source.provider_data is None else {"provider_data": source.provider_data}


@dataclass
class _OpenRound:
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
    monitor: Optional[LoopMonitor] = None
    interrupted: Mapping[int, Sequence[Message]] = field(default_factory=dict)
    """The results of `results_in_place_of` for the conversation that the run continues."""
    response_format: Optional[ResponseFormat] = None
    method: str = "complete"
    """The method of the provider that is asked."""
    rounds_before: int = 0
    """Rounds of the conversation that the run continues."""
    iteration: int = 0
    """Counted from 1; 0 before the first."""
    retries: int = 0
    """Answers that did not fit the response format."""
    words: LoopVerdict = GO_ON
    """The monitor's verdict on the text of the latest reply."""
    round: _OpenRound = field(default_factory=_OpenRound)
    calls: List[ToolCall] = field(default_factory=list)
    results: List[ToolResult] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    steps: List[TraceStep] = field(default_factory=list)
    next_provider: Optional[Provider] = None
    """The provider that answers the next request, if it is not the agent's model."""
    final_message: Optional[Message] = None
    output: Any = None
    detection: Optional[LoopDetection] = None
    error: Optional[str] = None

    def record(self, kind: StepType, summary: str, **data: Any) -> None:
        self.steps.append(TraceStep(kind, summary, data))

    def say(self, role: Role, text: str) -> None:
        self.messages.append(Message(role, text))

    def request(self, *, is_last: bool = False) -> ModelRequest:
        """Return the next question to the model, or the last one, for words alone."""
        schema = self.response_format.schema if self.response_format and not is_last else None
        tools = self.toolbox.schemas
        added = self.interrupted
        sent = (
            each
            for at, message in enumerate(self.messages)
            for each in (message, *added.get(at, ()))
        )
        return ModelRequest(tuple(sent), tools, schema, may_call=not is_last)

    @property
    def is_stuck_in_words(self) -> bool:
        """Whether something is to be done about the latest reply's text."""
        return self.words.action is not LoopAction.CONTINUE

    @property
    def _is_found_in_words(self) -> bool:
        return self.words.decision.action is not LoopAction.CONTINUE

    def hear(self, piece: Union[str, Thought]) -> bool:
        """Take a piece of the reply that is under way, and say whether the rest is not needed."""
        if self.monitor is not None and not self._is_found_in_words:
            if isinstance(piece, Thought):
                self.words = self.monitor.thinking(_text(piece.text))
            else:
                self.words = self.monitor.saying(_text(piece))
        return self.is_stuck_in_words

    def hear_all(self, reply: ModelReply) -> None:
        """Take the whole text of a reply, after its pieces if it was streamed."""
        verdict = GO_ON if self.monitor is None else _said(reply.text, reply, self.monitor)
        self.words = self.words if self._is_found_in_words else verdict

    def take_reply(self, reply: ModelReply) -> None:
        """Add the model's reply to the conversation and the bill."""
        self.usage = self.usage + reply.usage
        self.final_message = Message(
            Role.ASSISTANT, reply.text, reply.tool_calls, provider_data=reply.provider_data
        )
        self.messages.append(self.final_message)
        names = ", ".join(call.tool_name for call in reply.tool_calls)
        self.record(
            StepType.MODEL_CALL,
            f"The model asked for {names}." if names else "The model answered.",
            text=reply.text,
            tool_calls=len(reply.tool_calls),
            iteration=self.iteration,
            **({} if reply.end is ReplyEnd.COMPLETE else {"end": reply.end}),
            **({"is_compacted": True} if shows_compaction(reply.provider_data) else {}),
            **_opaque(reply),
        )

    def take_result(self, call: ToolCall, result: ToolResult) -> None:
        """Add a call's result to the conversation and the record."""
        for calls, results in ((self.calls, self.results), (self.round.calls, self.round.results)):
            calls.append(call)
            results.append(result)
        self.messages.append(
            Message(
                Role.TOOL,
                result.text,
                tool_call_id=call.id,
                is_error=result.is_error,
                images=result.images,
            )
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
            **_opaque(call),
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
    """Return the messages that a run begins with: a system prompt first, unless there is one."""
    messages = [Message(Role.USER, prompt)] if isinstance(prompt, str) else _messages(prompt)
    has_system = bool(messages) and messages[0].role is Role.SYSTEM
    if system_prompt is not None and not has_system:
        messages.insert(0, Message(Role.SYSTEM, system_prompt))
    return messages


def _messages(prompt: Any) -> List[Message]:
    if not hasattr(prompt, "__iter__"):
        raise TypeError(f"the prompt must be a text or a list of Message, got {held(prompt)}")
    messages = list(prompt)
    for at, each in enumerate(messages):
        if not isinstance(each, Message):
            raise TypeError(
                f"the prompt must hold Message objects; number {at} is {held(each)};"
                " pass Message(Role.USER, text)"
            )
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


def replay(messages: Sequence[Message], monitor: LoopMonitor) -> None:
    """Report a conversation to a monitor, as the run reported it when it happened."""
    number = 0
    monitor.recall((), can_ask=False)
    has_begun = False  # what the user said first is the task, and not progress in it
    paired = with_call_ids(messages)
    answers: Dict[Optional[str], ToolResult] = {}
    for each in paired:
        if each.role is Role.TOOL:
            answers.setdefault(each.tool_call_id, ToolResult(each.content, each.is_error))
    for message, named in zip(messages, paired):
        if message.role is Role.ASSISTANT:
            has_begun = True
            _said(message.content, message, monitor)
            if message.tool_calls:
                number += 1
                calls = [replace(call, round=number) for call in message.tool_calls]
                monitor.after(calls, [answers.get(call.id) for call in named.tool_calls])
        elif message.role is Role.USER and has_begun:
            _hear(message.content, monitor)
    monitor.recall((), can_ask=True)


def results_in_place_of(messages: Sequence[Message]) -> Dict[int, List[Message]]:
    """Return results for the calls of a conversation that have none, by the message before them.

    A conversation that was kept while its run went on may end within a round, and APIs refuse
    calls without results. The model reads these results; the conversation itself stays as it is,
    so that a further run still knows that the results are unknown.
    """
    rounds: Dict[Optional[str], int] = {}
    waiting: Dict[int, Dict[Optional[str], ToolCall]] = {}
    last: Dict[int, int] = {}
    for at, (message, named) in enumerate(zip(messages, with_call_ids(messages))):
        if message.tool_calls:
            waiting[at] = {new.id: call for call, new in zip(message.tool_calls, named.tool_calls)}
            rounds.update(dict.fromkeys(waiting[at], at))
            last[at] = at
        elif message.role is Role.TOOL and named.tool_call_id in rounds:
            asked = rounds[named.tool_call_id]
            waiting[asked].pop(named.tool_call_id, None)
            last[asked] = at
    return {
        last[asked]: [
            Message(Role.TOOL, INTERRUPTED, tool_call_id=call.id, is_error=True)
            for call in calls.values()
        ]
        for asked, calls in waiting.items()
        if calls
    }


def rounds_in(messages: Sequence[Message]) -> int:
    """Return the number of rounds in a conversation; those that follow are counted on from it."""
    return sum(1 for message in messages if message.tool_calls)


def _said(text: str, source: Union[ModelReply, Message], monitor: LoopMonitor) -> LoopVerdict:
    """Report a reply; an API that cuts the context down says so in it."""
    if shows_compaction(source.provider_data):
        monitor.forgot()
    return monitor.said(_text(text))


def _hear(text: str, monitor: LoopMonitor) -> None:
    if not text.startswith(NOTICE_MARKER):
        monitor.user_message(is_progress=not text.startswith(RETRY_MARKER))
