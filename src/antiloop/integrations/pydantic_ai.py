"""Pydantic AI agents."""

from bisect import bisect_left
from dataclasses import replace
from typing import Any, Awaitable, Callable, Set

try:
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.exceptions import ToolFailed
    from pydantic_ai.messages import ModelResponse, TextPart, UserPromptPart
except ImportError as error:
    raise ImportError(
        "antiloop.integrations.pydantic_ai needs pydantic-ai-slim 2.16 or later:"
        ' pip install "antiloop[pydantic-ai]"'
    ) from error

from ..formats import History, from_pydantic_ai
from ..loop_detection import LoopAction, LoopVerdict
from ..types import ToolCall
from .guard import Guard, stopped


class LoopGuard(Guard, AbstractCapability[Any]):
    """Capability for ``Agent(..., capabilities=[LoopGuard()])``; see `Guard` for its arguments.

    Each round is judged before the model is asked again: the model is told, or the run ends with an
    answer that says why, or `LoopDetectedError` reaches the caller. Refused calls get a failure as
    their result, which costs no retry. All is read off the messages of the run, so nothing has to
    be kept beside them, and a workflow that is replayed decides the same.

    Where the output must not be text there is no answer to end with: `stop` raises too.
    """

    async def wrap_model_request(
        self, ctx: Any, *, request_context: Any, handler: Callable[[Any], Awaitable[Any]]
    ) -> Any:
        """Judge the round whose results have just come in; the notice is sent, not stored."""
        verdict = self._verdict(ctx, request_context.messages[-1])
        if verdict.action is LoopAction.NOTIFY:
            return await handler(_with_notice(request_context, self.notice(verdict)))
        if verdict.action is LoopAction.STOP and _may_be_text(request_context):
            return ModelResponse(parts=[TextPart(stopped(verdict))])
        if verdict.action.ends_run:
            raise verdict.as_error()
        return await handler(request_context)

    async def before_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any) -> Any:
        """Refuse the call, or let it run."""
        pending = ToolCall(call.tool_name, call.args, call.tool_call_id)
        verdict = self.before(self._history(ctx), pending)
        if verdict.action is LoopAction.BLOCK:
            raise ToolFailed(verdict.message)
        return args

    def _verdict(self, ctx: Any, last: Any) -> LoopVerdict:
        came_in = {getattr(part, "tool_name", None) for part in last.parts} - {None}
        # No round has come in where a paused reply goes on, or the answer alone is asked for again.
        if last.kind == "response" or came_in <= _output_tools(ctx):
            return LoopVerdict()
        return self.judge(self._history(ctx), ctx.run_id or "")

    def _history(self, ctx: Any) -> History:
        return _without(_output_tools(ctx), from_pydantic_ai(self.recent(ctx.messages)))


def _output_tools(ctx: Any) -> Set[str]:
    """Give the tools that stand for the final answer; they never loop, they are retried."""
    return {tool.name for tool in ctx.tool_manager.tool_defs if tool.kind == "output"}


def _without(tools: Set[str], history: History) -> History:
    kept = [at for at, call in enumerate(history.calls) if call.tool_name not in tools]
    return History(
        tuple(history.calls[at] for at in kept),
        tuple(history.results[at] for at in kept),
        tuple(bisect_left(kept, start) for start in history.turn_starts),
    )


def _with_notice(request_context: Any, notice: str) -> Any:
    *earlier, last = request_context.messages
    told = replace(last, parts=[*last.parts, UserPromptPart(notice)])
    return replace(request_context, messages=[*earlier, told])


def _may_be_text(request_context: Any) -> bool:
    """Whether the run may end with plain words, and not with an object alone."""
    wanted = request_context.model_request_parameters
    return wanted.allow_text_output and wanted.output_mode in ("text", "tool", "tool_or_text")
