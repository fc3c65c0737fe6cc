"""Microsoft Agent Framework agents."""

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Awaitable, Callable, Iterable, List, Optional, Sequence
from weakref import WeakKeyDictionary

from ._needed import needed

with needed("agent-framework-core 1.3 or later", "agent-framework", __name__):
    from agent_framework import (
        ChatMiddleware,
        ChatResponse,
        ChatResponseUpdate,
        Content,
        FunctionMiddleware,
        Message,
        ResponseStream,
    )

from ..formats import from_agent_framework
from ..formats._internal import agent_framework, field_of, flag_of, tag_of
from ..loop_detection import LoopAction, LoopMonitor, LoopVerdict
from ..stability import stable
from ..types import ToolCall
from ._guard import Guard, heeded, stopped
from ._thoughts import Thoughts, leave

__all__ = ["LoopGuard"]

_CallNext = Callable[[], Awaitable[None]]


@stable
class LoopGuard(Guard):
    """Middleware for ``Agent(..., middleware=guard.middleware)``; see `Guard` for its arguments.

    Each round is judged before the next model call: it gets a notice, or is asked for its last
    words without its tools, or the run ends with a last message that says why, or
    `LoopDetectedError` reaches the caller. Refused calls get the words of the refusal as their
    result. If a streamed model repeats itself without end in its thoughts, the stream is left and
    the run ends.

    A run begins with what its messages tell; from then on it is remembered, as a service that keeps
    the conversation is sent only what is new, and a compaction takes messages away; what the model
    no longer sees does not count as known.
    """

    @property
    def middleware(self) -> List[Any]:
        """The middleware for an agent, or for a chat client; it serves all agents of a process."""
        return [_Rounds(self), _Calls(self)]

    async def _judged(self, messages: Sequence[Any], run_id: str) -> "_RunState":
        """Judge the round whose results have just come in; once, however often others ask."""
        run, given = self._run, _latest_results(messages)
        if run and given and given[-1] is run.judged:
            return run
        if run is None or not run.goes_on_in(messages):
            self._run = run = self._begun(messages, run_id)
        if given and not run.is_judged:
            run.is_judged, run.judged = True, given[-1]
            run.heed(messages)
            history = from_agent_framework([*run.reply, *given])
            run.verdict = self.replay(run.monitor, history, may_ask=True)
            run.verdict = await self.aasked(run.monitor, run.verdict, run_id)
            self.tell(run.verdict, run_id, run.monitor)
        return run

    def _begun(self, messages: Sequence[Any], run_id: str) -> "_RunState":
        """Take up a run with what its messages tell."""
        stop = len(messages) - len(_latest_results(messages))
        start = stop
        while start and stop < len(messages) and tag_of(messages[start - 1], "role") == "assistant":
            start -= 1
        past = from_agent_framework(self.recent(list(filter(_is_sent, messages[:start]))))
        return _RunState(self.replayed(past, run_id), messages[start:stop])

    @property
    def _run(self) -> "Optional[_RunState]":
        """The run under way in this task."""
        return _RUNS.get(WeakKeyDictionary()).get(self)

    @_run.setter
    def _run(self, run: "_RunState") -> None:
        # A copy: tasks that were begun before keep what they have.
        runs = WeakKeyDictionary(_RUNS.get({}))
        runs[self] = run
        _RUNS.set(runs)


@dataclass
class _RunState:
    """The state of a run under way."""

    monitor: LoopMonitor
    reply: Sequence[Any] = ()
    """The messages with the last reply of the model."""
    is_judged: bool = False
    """Whether the round of that reply has been judged."""
    judged: Any = None
    """The last message with results that was judged."""
    verdict: LoopVerdict = field(default_factory=LoopVerdict)
    """The verdict that applies to each request after those results."""
    mark: int = 0
    """The number that `heeded` returned before."""

    def note(self, response: Any) -> Any:
        """Remember what the model asks for; return the response as it came."""
        # A copy: the framework puts the rounds before into a response that ends a run.
        self.reply, self.is_judged = list(field_of(response, "messages") or ()), False
        return response

    def heed(self, messages: Sequence[Any]) -> None:
        """Forget what a compaction has taken out of the messages of a request."""
        held = _calls_in(filter(_is_sent, messages)) - _calls_in(self.reply)
        if held >= 0:  # else a service keeps the conversation, and is sent what is new
            self.mark = heeded(self.monitor, self.mark, held)

    def goes_on_in(self, messages: Sequence[Any]) -> bool:
        """Whether the last results of a request are those of the last reply here."""
        given = set(map(agent_framework.call_id_of, _contents_in(_latest_results(messages))))
        asked = filter(agent_framework.is_call, _contents_in(self.reply))
        return bool(given) and given <= set(map(agent_framework.call_id_of, asked))

    def call(self, call_id: str) -> Optional[ToolCall]:
        """Return a call of the last reply as the model wrote it."""
        calls = from_agent_framework(self.reply).calls
        return next((call for call in calls if call.id == call_id), None)


# Tools run in tasks that inherit it.
_RUNS: "ContextVar[WeakKeyDictionary[LoopGuard, _RunState]]" = ContextVar(
    "antiloop_agent_framework"
)


class _Rounds(ChatMiddleware):
    """Carries out the verdict on a round before the model is asked again."""

    def __init__(self, guard: LoopGuard) -> None:
        self._guard = guard

    async def process(self, context: Any, call_next: _CallNext) -> None:
        guard = self._guard
        run_id = getattr(getattr(context, "session", None), "session_id", "")
        run = await guard._judged(context.messages, run_id)
        if run.verdict.action is LoopAction.RAISE:
            raise run.verdict.as_error()
        if run.verdict.action is LoopAction.STOP:
            context.result = _last_answer(stopped(run.verdict), is_streamed=context.stream)
            return
        if run.verdict.action in (LoopAction.NOTIFY, LoopAction.CONCLUDE):
            context.messages.append(Message("user", [guard.notice(run.verdict)]))
        if run.verdict.action is LoopAction.CONCLUDE:
            await _conclude(context, call_next, stopped(run.verdict))
            return
        context.stream_result_hooks.append(run.note)
        await call_next()
        if context.stream:
            context.result = _heard(context.result, Thoughts(guard, run_id))
        else:
            run.note(context.result)


class _Calls(FunctionMiddleware):
    """Answers a call that is refused."""

    def __init__(self, guard: LoopGuard) -> None:
        self._guard = guard

    async def process(self, context: Any, call_next: _CallNext) -> None:
        run = self._guard._run
        call = run and run.call(context.metadata.get("call_id", ""))
        if run and call:
            verdict = run.monitor.before(call)
            if verdict.action is LoopAction.BLOCK:
                context.result = verdict.message
                return
        await call_next()


async def _conclude(context: Any, call_next: _CallNext, ending: str) -> None:
    """Ask for last words, and leave out the calls of a model that makes some all the same."""
    # The tools stay in the request: some APIs refuse a conversation that speaks of others.
    context.options = {**(context.options or {}), "tool_choice": "none"}
    await call_next()
    if context.stream:
        context.result = _streamed(_words_in(context.result, ending))
        return
    for message in context.result.messages:
        _leave_out_calls(message)
    if not context.result.text:
        context.result.messages = [Message("assistant", [ending])]


async def _words_in(stream: Any, ending: str) -> Any:
    has_words = False
    async for update in stream:
        _leave_out_calls(update)
        has_words = has_words or bool(update.text)
        yield update
    if not has_words:
        yield _words(ending)


def _heard(stream: Any, thoughts: Thoughts) -> Any:
    """Return a stream that ends where the model repeats itself without end in its thoughts."""
    is_left = False

    async def updates() -> Any:
        nonlocal is_left
        async for update in stream:
            verdict = thoughts.hear(_thought_in(update))
            if verdict.action is not LoopAction.CONTINUE:
                is_left = True
                await leave(stream)
                if verdict.action is LoopAction.RAISE:
                    raise verdict.as_error()
                yield _words(stopped(verdict))
                return
            yield update

    async def response(given: Any) -> Any:
        return ChatResponse.from_updates(given) if is_left else await stream.get_final_response()

    return ResponseStream(updates(), finalizer=response)


def _thought_in(update: Any) -> str:
    """Return the piece of the model's thoughts in a piece of a reply."""
    return "".join(each.text or "" for each in update.contents if each.type == "text_reasoning")


def _words(text: str) -> Any:
    return ChatResponseUpdate(contents=[Content.from_text(text)], role="assistant")


def _leave_out_calls(said: Any) -> None:
    """Leave out the calls in a message, or in a piece of one."""
    said.contents = [each for each in said.contents if not agent_framework.is_call(each)]


def _latest_results(messages: Sequence[Any]) -> Sequence[Any]:
    """Return the messages at the end that hold results; none if the user or the model spoke."""
    at = len(messages)
    while at and any(map(agent_framework.is_result, agent_framework.contents_of(messages[at - 1]))):
        at -= 1
    return messages[at:]


def _is_sent(message: Any) -> bool:
    """Whether the model sees a message: a compaction marks those that it leaves out."""
    return not flag_of(field_of(message, "additional_properties"), "_excluded")


def _contents_in(messages: Iterable[Any]) -> List[Any]:
    return [content for message in messages for content in agent_framework.contents_of(message)]


def _calls_in(messages: Iterable[Any]) -> int:
    return sum(map(agent_framework.is_call, _contents_in(messages)))


def _last_answer(text: str, *, is_streamed: bool) -> Any:
    if not is_streamed:
        return ChatResponse(messages=[Message("assistant", [text])])

    async def updates() -> Any:
        yield _words(text)

    return _streamed(updates())


def _streamed(updates: Any) -> Any:
    return ResponseStream(updates, finalizer=ChatResponse.from_updates)
