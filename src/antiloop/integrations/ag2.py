"""AG2 agents, from version 1.0 on."""

from typing import Any, Awaitable, Callable, Iterable, List, Optional, Sequence

from ._needed import needed

with needed("ag2 1.0 or later", "ag2", __name__):
    from ag2.events import (
        ModelMessage,
        ModelReasoning,
        ModelRequest,
        ModelResponse,
        TextInput,
        ToolCallsEvent,
        ToolErrorEvent,
        ToolResultEvent,
        ToolResultsEvent,
    )
    from ag2.middleware import BaseMiddleware

from ..formats import History, HistoryBuilder
from ..formats._internal import field_of, text_of
from ..loop_detection import LoopAction, LoopMonitor, LoopVerdict
from ..stability import stable
from ..types import ToolCall, ToolResult
from ._guard import Guard, heeded, stopped
from ._thoughts import CirclingError, Thoughts

__all__ = ["LoopGuard"]


@stable
class LoopGuard(Guard):
    """Middleware for ``Agent(..., middleware=[LoopGuard()])``; see `Guard` for its arguments.

    Each round is judged before the next model call: the model gets a notice, or is asked for its
    last words and no tool runs any more, or the turn ends with a reply that says why, or
    `LoopDetectedError` reaches the caller. Refused calls get the words of the refusal as their
    result. A model is left where it repeats itself without end in its thoughts, and the turn ends.

    A turn begins with what the history of its stream tells; from then on it is remembered, since a
    compaction takes events away. Messages that the model no longer sees do not count as known. One
    guard serves all agents of a process.
    """

    def __call__(self, event: Any, context: Any) -> Any:
        """Return the middleware of one turn; AG2 calls this."""
        return _Turn(event, context, self)


class _Turn(BaseMiddleware):
    """One turn: its state, and the work done in it."""

    def __init__(self, event: Any, context: Any, guard: LoopGuard) -> None:
        super().__init__(event, context)
        self._guard, self._run_id = guard, str(context.stream.id)
        self._run: Optional[LoopMonitor] = None
        self._judged: Any = None
        self._mark = 0
        self._verdict = LoopVerdict()

    async def on_llm_call(
        self, call_next: Callable[..., Awaitable[Any]], events: Sequence[Any], context: Any
    ) -> Any:
        """Judge the round whose results have just come in; the notice is sent, not stored."""
        verdict = await self._verdict_on(list(filter(_is_message, events)))
        if verdict.action is LoopAction.RAISE:
            raise verdict.as_error()
        if verdict.action is LoopAction.STOP:
            return ModelResponse(ModelMessage(stopped(verdict)))
        if verdict.action in (LoopAction.NOTIFY, LoopAction.CONCLUDE):
            events = [*events, ModelRequest([TextInput(self._guard.notice(verdict))])]
        reply = await self._asked(call_next, events, context)
        if verdict.action is LoopAction.CONCLUDE:
            reply.tool_calls = ToolCallsEvent()
            reply.message = reply.message or ModelMessage(stopped(verdict))
        return reply

    async def _asked(
        self, call_next: Callable[..., Awaitable[Any]], events: Sequence[Any], context: Any
    ) -> Any:
        """Ask the model, and leave it where it repeats itself without end in its thoughts."""
        thoughts = Thoughts(self._guard, self._run_id)

        def hear(event: Any) -> None:
            thoughts.check(text_of(event.content))

        try:
            with context.stream.where(ModelReasoning).sub_scope(hear, sync_to_thread=False):
                return await call_next(events, context)
        except CirclingError as left:
            return ModelResponse(ModelMessage(left.last_words()))

    async def on_tool_execution(
        self, call_next: Callable[..., Awaitable[Any]], event: Any, context: Any
    ) -> Any:
        """Refuse the call, or let it run."""
        if self._run is None:  # a turn that goes on from its calls
            events = await context.stream.history.get_events()
            self._run = self._monitor_from(list(filter(_is_message, events)))
        verdict = self._run.before(ToolCall(event.name, event.arguments, event.id))
        if verdict.action is LoopAction.BLOCK:
            return ToolResultEvent.from_call(event, verdict.message)
        return await call_next(event, context)

    async def _verdict_on(self, events: Sequence[Any]) -> LoopVerdict:
        if self._run is None:
            self._run = self._monitor_from(events)
        together = events[_last_reply(events) :]
        # Others may ask the model again after the same round.
        if together[-1:] and together[-1] is not self._judged:
            self._judged = together[-1]
            self._mark = heeded(self._run, self._mark, _calls_in(events[: -len(together)]))
            self._verdict = self._guard.replay(self._run, _read(together), may_ask=True)
            self._verdict = await self._guard.aasked(self._run, self._verdict, self._run_id)
            if isinstance(self._judged, ToolResultsEvent):
                self._guard.tell(self._verdict, self._run_id, self._run)
        return self._verdict

    def _monitor_from(self, events: Sequence[Any]) -> LoopMonitor:
        """Return the monitor of the turn, up to before the last reply."""
        past = self._guard.recent(events[: _last_reply(events)])
        return self._guard.replayed(_read(past), self._run_id)


def _is_message(event: Any) -> bool:
    """Whether an event is part of the conversation; others describe how it came about."""
    return isinstance(event, (ModelRequest, ModelResponse, ToolResultsEvent))


def _last_reply(events: Sequence[Any]) -> int:
    """Return the index of the model's last reply; the end if there is none."""
    for at in range(len(events) - 1, -1, -1):
        if isinstance(events[at], ModelResponse):
            return at
    return len(events)


def _calls_in(events: Iterable[Any]) -> int:
    replies = (event for event in events if isinstance(event, ModelResponse))
    return sum(len(reply.tool_calls.calls) for reply in replies)


def _read(events: Iterable[Any]) -> History:
    history = HistoryBuilder()
    for index, event in enumerate(events):
        if isinstance(event, ModelResponse):
            history.add_reply(text_of(event.content))
            for call in event.tool_calls.calls:
                history.add_call(call.name, call.arguments, call.id, index)
        elif isinstance(event, ToolResultsEvent):
            for given in event.results:
                failed = isinstance(given, ToolErrorEvent)
                text = "\n".join(_texts_of(given.result.parts))
                history.add_result(ToolResult(text, failed), given.parent_id, given.name)
        else:
            history.add_user_message(*_texts_of(event.parts))
    return history.build()


def _texts_of(parts: Sequence[Any]) -> List[str]:
    """Return the texts of inputs; data and shown parts as their content."""
    kinds = ("content", "data", "url", "file_id")
    return [
        text_of(next(filter(None, (field_of(part, kind) for kind in kinds)), None))
        for part in parts
    ]
