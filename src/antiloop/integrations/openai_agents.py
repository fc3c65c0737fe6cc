"""Agents of the OpenAI Agents SDK."""

import inspect
import logging
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Set

from ._needed import needed

with needed("openai-agents 0.4 or later", "openai-agents", __name__):
    from agents import (
        AgentHooks,
        FunctionTool,
        RunConfig,
        ToolGuardrailFunctionOutput,
        ToolInputGuardrail,
        ToolsToFinalOutputResult,
    )

from .._latest import Latest
from ..formats import from_openai_responses
from ..formats._internal import field_of, is_compaction, text_of
from ..formats._internal import openai_responses as responses
from ..loop_detection import LoopAction, LoopVerdict
from ..stability import stable
from ..types import ToolCall
from ._guard import WITHDRAWN, Guard, stopped

__all__ = ["LoopGuard"]

_KEPT_FIRST_CALLS = 1000

# Tasks that are begun after a request inherit it.
_LAST: ContextVar[Optional["_LastRequest"]] = ContextVar("antiloop_last_request", default=None)

_logger = logging.getLogger("antiloop")
_UNKNOWN = (
    "a call of agent %r runs unguarded, because the guard has not seen the conversation: pass"
    " run_config=guard.run_config() to Runner.run; ignore this right after a person's approval"
)


@stable
class LoopGuard(Guard):
    """Guards runs of the OpenAI Agents SDK; see `Guard` for its arguments.

        guard = LoopGuard()
        agent = guard.agent(Agent("helper", tools=[search]))
        result = await Runner.run(agent, "Go", run_config=guard.run_config())

    Each round is judged before the next model call: the model gets a notice, or is asked for its
    last words and no tool runs any more, or the run ends with a final output that says why, or
    `LoopDetectedError` reaches the caller. Refused calls get the words of the refusal as their
    result.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._requests = _LastRequests()

    def agent(self, agent: Any) -> Any:
        """Return a copy of an agent whose tools can be refused, and whose runs can be ended."""
        behavior = agent.tool_use_behavior
        if behavior != "stop_on_first_tool":
            behavior = partial(self._final_output, agent)
        hooks = _ReplyHooks(self._requests, agent.hooks)
        tools = self.tools(agent.tools)
        return agent.clone(tools=tools, tool_use_behavior=behavior, hooks=hooks)

    def tools(self, tools: Iterable[Any]) -> List[Any]:
        """Return copies of function tools that can be refused; other tools as they are."""
        return [self._tool(tool) if isinstance(tool, FunctionTool) else tool for tool in tools]

    def run_config(self, config: Optional[Any] = None) -> Any:
        """Return a run configuration that delivers notices; its other settings stay."""
        config = config or RunConfig()
        sent = partial(self._sent, config.call_model_input_filter)
        return replace(config, call_model_input_filter=sent)

    @property
    def guardrail(self) -> Any:
        """A guardrail that refuses calls of tools made elsewhere, such as those of MCP servers."""
        return ToolInputGuardrail(self._allowed, name="antiloop")

    def _tool(self, tool: Any) -> Any:
        guarded = copy(tool)
        guarded.tool_input_guardrails = [self.guardrail, *(tool.tool_input_guardrails or ())]
        return guarded

    async def _sent(self, theirs: Any, data: Any) -> Any:
        """Judge the round whose results have just come in, before the model reads them."""
        items = self.recent(self._requests.whole(data.model_data.input))
        last = self._requests.begin(data.agent.name, items)
        verdict = LoopVerdict()
        if items and responses.is_result(items[-1]):
            verdict = await self.ajudge(from_openai_responses(items), last.agent)
        is_last = verdict.action is LoopAction.CONCLUDE and _may_be_text(data.agent)
        if verdict.action.ends_run and not is_last:
            raise verdict.as_error()
        last.ending = stopped(verdict) if is_last else ""
        sent = await _result_of(theirs(data)) if theirs else data.model_data
        if is_last or verdict.action is LoopAction.NOTIFY:
            notice = {"role": "user", "content": self.notice(verdict)}
            sent = replace(sent, input=[*sent.input, notice])
        return sent

    def _allowed(self, data: Any) -> Any:
        """Refuse the call, or let it run."""
        context = data.context
        last = self._requests.now(data.agent.name, [context.tool_call_id])
        if last is None:
            _logger.warning(_UNKNOWN, data.agent.name)
            return ToolGuardrailFunctionOutput.allow()
        if last.ending:
            return ToolGuardrailFunctionOutput.reject_content(WITHDRAWN)
        call = ToolCall(context.tool_name, context.tool_arguments, context.tool_call_id)
        self._requests.note(_item(call), last)
        verdict = self._monitor_after(from_openai_responses(last.items)).before(call)
        if verdict.action is LoopAction.BLOCK:
            return ToolGuardrailFunctionOutput.reject_content(verdict.message)
        return ToolGuardrailFunctionOutput.allow()

    async def _final_output(self, agent: Any, context: Any, results: Any) -> Any:
        """End the run if its last round says so."""
        theirs = await _decided(agent.tool_use_behavior, context, results)
        outputs = [result.run_item.raw_item for result in results if result.run_item]
        last = self._requests.now(agent.name, [field_of(each, "call_id") for each in outputs])
        # An object as output cannot be made up here: the next request raises instead.
        if theirs.is_final_output or not last or not _may_be_text(agent):
            return theirs
        if last.ending:  # it called tools instead of saying its last words
            return ToolsToFinalOutputResult(True, last.text or last.ending)
        history = from_openai_responses(last.followed_by(outputs))
        monitor = self.monitor(last.agent)
        verdict = await self.averdict_on(monitor, history, last.agent)
        if verdict.action is not LoopAction.STOP:  # the next request asks for last words
            return theirs
        self.tell(verdict, last.agent, monitor)
        return ToolsToFinalOutputResult(True, stopped(verdict))


def _may_be_text(agent: Any) -> bool:
    """Whether the run of an agent may end with plain words."""
    return agent.output_type in (None, str)


class _ReplyHooks(AgentHooks[Any]):
    """Note what a reply says, and which tools the provider has run for it.

    All else is done by the agent's hooks.
    """

    def __init__(self, requests: "_LastRequests", theirs: Optional[Any]) -> None:
        self._requests, self._theirs = requests, theirs
        for name in dir(AgentHooks):
            if theirs is not None and name.startswith("on_") and name != "on_llm_end":
                setattr(self, name, getattr(theirs, name))

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        last = self._requests.now(agent.name)
        if last is not None:
            kept = [
                item
                for item in response.output
                if responses.is_message(item)
                or responses.is_hosted_call(item)
                or is_compaction(item)
            ]
            # As it will be in the next request: without the fields that are not set.
            last.kept = [item.model_dump(exclude_unset=True) for item in kept]
            calls = filter(responses.is_call, response.output)
            last.asked = {field_of(call, "call_id") for call in calls}
        if self._theirs is not None:
            await self._theirs.on_llm_end(context, agent, response)


def _item(call: ToolCall) -> Dict[str, Any]:
    named = {"name": call.tool_name, "arguments": call.arguments, "call_id": call.id}
    return {"type": "function_call", **named}


async def _decided(behavior: Any, context: Any, results: Any) -> Any:
    """Ask what the agent itself does after its tools have run."""
    if callable(behavior):
        return await _result_of(behavior(context, results))
    names = behavior["stop_at_tool_names"] if isinstance(behavior, dict) else ()
    for result in results:
        tool = result.tool
        if tool.name in names or getattr(tool, "qualified_name", tool.name) in names:
            return ToolsToFinalOutputResult(True, result.output)
    return ToolsToFinalOutputResult(False)


async def _result_of(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


@dataclass
class _LastRequest:
    """A run from its last request to the model on, in OpenAI Responses items."""

    agent: str
    items: Sequence[Any]
    calls: Dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """The calls that the model asked for then, by id."""
    asked: Optional[Set[Any]] = None
    """The ids of all calls of the reply; None where they are not known, as without the hooks."""
    kept: Sequence[Any] = ()
    """The rest of the reply: words of the model, calls that the provider has run, compactions."""
    ending: str = ""
    """The reason of the end, if the model was asked for its last words."""

    @property
    def text(self) -> str:
        """The words of the reply."""
        said = (field_of(item, "content") for item in self.kept if responses.is_message(item))
        return "\n".join(map(text_of, said))

    def followed_by(self, results: Iterable[Any]) -> List[Any]:
        """Return the conversation, followed by the calls made since and their results."""
        return [*self.items, *self.kept, *self.calls.values(), *results]


class _LastRequests:
    """Finds the last request of a run, in all runs of a process at the same time."""

    def __init__(self) -> None:
        self._first_calls: Latest[str, _LastRequest] = Latest(_KEPT_FIRST_CALLS)

    def now(self, agent: str, call_ids: Iterable[Any] = ()) -> Optional[_LastRequest]:
        """Return the last request here, unless another agent or another run made it.

        Args:
            agent: the agent that is at work.
            call_ids: the calls that it works at. Those that a person has approved begin a run
                without a request.
        """
        last = _LAST.get()
        if last is None or last.agent != agent:
            return None
        return last if last.asked is None or last.asked.issuperset(call_ids) else None

    def begin(self, agent: str, items: Sequence[Any]) -> "_LastRequest":
        """Note a request, and return it."""
        last = _LastRequest(agent, items)
        _LAST.set(last)
        return last

    def note(self, call: Mapping[str, Any], last: _LastRequest) -> None:
        """Note a call that the model asks for."""
        last.calls[call["call_id"]] = call
        if any(map(responses.is_call, last.items)):
            return
        # The first turn of a run is a separate task; the next turn does not see what it sets.
        # What was said before contains no calls, and may be large.
        self._first_calls[call["call_id"]] = _LastRequest(
            last.agent, (), last.calls, kept=last.kept
        )

    def whole(self, items: Sequence[Any]) -> Sequence[Any]:
        """Return the whole conversation; if a server keeps it, the items are only the new ones."""
        answered = [field_of(item, "call_id") for item in items if responses.is_result(item)]
        first = [self._first_calls.pop(call_id, None) for call_id in answered]
        if not any(map(responses.is_call, items)):
            for last in (_LAST.get(), *first):
                if last and not last.calls.keys().isdisjoint(answered):
                    return last.followed_by(items)
        return items
