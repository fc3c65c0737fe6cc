"""Pydantic AI agents."""

import re
from asyncio import CancelledError, current_task
from copy import copy
from dataclasses import replace
from typing import Any, AsyncIterator, Awaitable, Callable, Mapping, Optional, Sequence

from ._needed import needed

with needed("pydantic-ai-slim 2.16 or later", "pydantic-ai", __name__):
    from pydantic_ai import __version__
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.exceptions import ToolFailed
    from pydantic_ai.messages import ModelResponse, TextPart, UserPromptPart

from ..formats import from_pydantic_ai
from ..formats._internal import field_of, text_of
from ..loop_detection import LoopAction, LoopMonitor, LoopVerdict, ToolPolicy
from ..stability import stable
from ..types import ToolCall
from ._guard import WITHDRAWN, Guard, heeded, stopped
from ._thoughts import CirclingError, Thoughts

__all__ = ["LoopGuard"]

_NUMBER = re.compile(r"\d+")


def _can_leave_streams() -> bool:
    # In older versions an error follows where a request ends before its stream.
    return tuple(map(int, _NUMBER.findall(__version__)[:2])) >= (2, 55)


class _Hearing(Guard, AbstractCapability[Any]):
    """The part of a guard that hears what a model thinks, and leaves a reply that is streamed."""

    _asking: Any = None
    """The task in which the model is asked."""
    _circling: Optional[CirclingError] = None
    """The finding in the thoughts of the reply, until the request ends."""

    @property
    def has_wrap_run_event_stream(self) -> bool:
        """False, or each run would be streamed; a stream that is there is heard all the same."""
        return False

    async def wrap_run_event_stream(self, ctx: Any, *, stream: Any) -> AsyncIterator[Any]:
        """Judge the thoughts of a reply that is streamed."""
        thoughts = Thoughts(self, ctx.run_id or "")
        can_leave = _can_leave_streams()
        async for event in stream:
            try:
                thoughts.check(_thought_in(event) if can_leave else "")
            except CirclingError as circling:
                self._circling = circling
                # The request has a separate task; its end closes the stream.
                self._asking.cancel()
            yield event

    async def _unless_left(self, asked: Awaitable[Any]) -> Any:
        """Ask the model; raises CirclingError where its reply is left."""
        self._asking = current_task()
        try:
            return await asked
        except CancelledError:
            circling, self._circling = self._circling, None
            if circling is None:
                raise
            raise circling from None


@stable
class LoopGuard(_Hearing):
    """Capability for ``Agent(..., capabilities=[LoopGuard()])``; see `Guard` for its arguments.

    Each round is judged before the next model call: it gets a notice, or is asked for its last
    words without its tools, or the run ends with an answer that says why, or `LoopDetectedError`
    reaches the caller. Refused calls get a failure as their result, which costs no retry.

    A run begins with what its messages tell; from then on it is remembered, since a processor of
    the history may take messages away; what the model no longer sees does not count as known. All
    is derived from the messages that come in, so a workflow that is replayed decides the same.

    A reply that is streamed is left where the model repeats itself without end in its thoughts, and
    the run ends; from Pydantic AI 2.55 on.

    If the output must not be text, `stop` and `conclude` raise too, because they have no answer to
    return.
    """

    _run: Optional[LoopMonitor] = None
    _judged: Any = None
    _mark = 0
    _latest = LoopVerdict()
    _concluded: Any = None

    async def for_run(self, ctx: Any) -> "LoopGuard":
        """Return a guard of one run; what is known of it is kept there."""
        return copy(self)

    async def wrap_model_request(
        self, ctx: Any, *, request_context: Any, handler: Callable[[Any], Awaitable[Any]]
    ) -> Any:
        """Judge the round whose results have just come in; the notice is sent, not stored."""
        try:
            return await self._unless_left(self._asked(ctx, request_context, handler))
        except CirclingError as circling:
            if _may_be_text(request_context):
                return ModelResponse(parts=[TextPart(circling.last_words())])
            raise circling.verdict.as_error() from None

    async def _asked(
        self, ctx: Any, request_context: Any, handler: Callable[[Any], Awaitable[Any]]
    ) -> Any:
        verdict = await self._verdict(ctx, request_context.messages[-1])
        if verdict.action is LoopAction.NOTIFY:
            return await handler(_with_notice(request_context, self.notice(verdict)))
        if self._has_last_words(verdict) and _may_be_text(request_context):
            last = _with_notice(_without_tools(request_context), self.notice(verdict))
            return _without_calls(await handler(last), request_context, verdict)
        if verdict.action.stops and _may_be_text(request_context):
            return ModelResponse(parts=[TextPart(stopped(verdict))])
        if verdict.action.ends_run:
            raise verdict.as_error()
        return await handler(request_context)

    async def before_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any) -> Any:
        """Refuse the call, or let it run."""
        pending = ToolCall(call.tool_name, call.args, call.tool_call_id)
        verdict = self._monitor(ctx).before(pending)
        if self._concluded is not None:  # a stream shows the calls before they can be left out
            raise ToolFailed(WITHDRAWN)
        if verdict.action is LoopAction.BLOCK:
            raise ToolFailed(verdict.message)
        return args

    async def _verdict(self, ctx: Any, last: Any) -> LoopVerdict:
        monitor = self._monitor(ctx)
        if last.kind == "response":  # no round has come in: a paused reply goes on
            return LoopVerdict()
        reply = _last_reply(ctx.messages)
        together = ctx.messages[reply:]
        if together[0] is not self._judged:
            # Others may ask the model again after the same round.
            self._judged, run_id = together[0], ctx.run_id or ""
            self._mark = heeded(monitor, self._mark, _calls_in(ctx.messages[:reply]))
            self._latest = self.replay(monitor, from_pydantic_ai(together), may_ask=True)
            self._latest = await self.aasked(monitor, self._latest, run_id)
            if together[0].kind == "response":
                self.tell(self._latest, run_id, monitor)
        return self._latest

    def _has_last_words(self, verdict: LoopVerdict) -> bool:
        """Whether the model is asked for its last words: after one round, and never after more."""
        if verdict.action is not LoopAction.CONCLUDE:
            return False
        self._concluded = self._judged if self._concluded is None else self._concluded
        return self._concluded is self._judged

    def _monitor(self, ctx: Any) -> LoopMonitor:
        """Return the monitor of the run, up to before the last reply."""
        if self._run is None:
            self._ignored = {**self._ignored, **_output_tools(ctx)}
            past = ctx.messages[: _last_reply(ctx.messages)]
            self._run = self.replayed(from_pydantic_ai(self.recent(past)), ctx.run_id or "")
        return self._run


def _last_reply(messages: Sequence[Any]) -> int:
    """Return the index of the model's last reply; 0 if there is none."""
    at = len(messages) - 1
    while at > 0 and messages[at].kind != "response":
        at -= 1
    return max(at, 0)


def _calls_in(messages: Sequence[Any]) -> int:
    return sum(part.part_kind.endswith("tool-call") for each in messages for part in each.parts)


def _output_tools(ctx: Any) -> Mapping[str, ToolPolicy]:
    """Return the tools that give the final answer; they never loop, they are retried."""
    tools = ctx.tool_manager.tool_defs
    return {tool.name: ToolPolicy(exempt=True) for tool in tools if tool.kind == "output"}


def _thought_in(event: Any) -> str:
    """Return the piece of a thought in an event of a stream."""
    part, delta = field_of(event, "part"), field_of(event, "delta")
    begins = event.event_kind == "part_start" and field_of(part, "part_kind") == "thinking"
    is_more = field_of(delta, "part_delta_kind") == "thinking"
    return text_of(part.content if begins else delta.content_delta if is_more else None)


def _with_notice(request_context: Any, notice: str) -> Any:
    *earlier, last = request_context.messages
    with_notice = replace(last, parts=[*last.parts, UserPromptPart(notice)])
    return replace(request_context, messages=[*earlier, with_notice])


def _without_tools(request_context: Any) -> Any:
    # The tools stay in the request: some APIs refuse a conversation that speaks of others.
    settings = {**(request_context.model_settings or {}), "tool_choice": "none"}
    return replace(request_context, model_settings=settings)


def _without_calls(reply: Any, request_context: Any, verdict: LoopVerdict) -> Any:
    """Return a reply without calls of tools, those aside that give the final answer."""
    output = {tool.name for tool in request_context.model_request_parameters.output_tools}
    kept = [
        each for each in reply.parts if each.part_kind != "tool-call" or each.tool_name in output
    ]
    has_answer = any(each.part_kind in ("text", "tool-call") for each in kept)
    return replace(reply, parts=kept if has_answer else [*kept, TextPart(stopped(verdict))])


def _may_be_text(request_context: Any) -> bool:
    """Whether the run may end with plain words, and not with an object alone."""
    wanted = request_context.model_request_parameters
    return wanted.allow_text_output and wanted.output_mode in ("text", "tool", "tool_or_text")
