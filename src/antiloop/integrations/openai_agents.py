"""Agents of the OpenAI Agents SDK."""

import inspect
import logging
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, Dict, Iterable, List, Optional

try:
    from agents import (
        AgentHooks,
        FunctionTool,
        RunConfig,
        ToolGuardrailFunctionOutput,
        ToolInputGuardrail,
        ToolsToFinalOutputResult,
    )
except ImportError as error:
    raise ImportError(
        "antiloop.integrations.openai_agents needs openai-agents 0.4 or later:"
        ' pip install "antiloop[openai-agents]"'
    ) from error

from ..formats import from_openai_responses
from ..formats.messages.openai_responses import is_hosted_call, is_message, is_result
from ..loop_detection import LoopAction
from ..loop_detection.verdict import GO_ON
from ..stability import beta
from ..types import ToolCall
from .guard import Guard, stopped
from .shared.last_request import LastRequests

_logger = logging.getLogger("antiloop")
_UNKNOWN = (
    "what came before this call of agent %r is not known, so it is not refused: give Runner.run the"
    " run_config of the guard; right after a person's approval there is nothing to do"
)


@beta
class LoopGuard(Guard):
    """Guards runs of the OpenAI Agents SDK; see `Guard` for its arguments.

        guard = LoopGuard()
        agent = guard.agent(Agent("helper", tools=[search]))
        result = await Runner.run(agent, "Go", run_config=guard.run_config())

    Each round is judged before the next model call: the model gets a notice, or the run ends with a
    final output that says why, or `LoopDetectedError` reaches the caller. Refused calls get the
    words of the refusal as their result.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._requests = LastRequests()

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
        """What refuses calls, for tools that are made elsewhere, such as those of MCP servers."""
        return ToolInputGuardrail(self._allowed, name="antiloop")

    def _tool(self, tool: Any) -> Any:
        guarded = copy(tool)
        guarded.tool_input_guardrails = [self.guardrail, *(tool.tool_input_guardrails or ())]
        return guarded

    async def _sent(self, theirs: Any, data: Any) -> Any:
        """Judge the round whose results have just come in, before the model reads them."""
        items = self.recent(self._requests.whole(data.model_data.input))
        last = self._requests.begin(data.agent.name, items)
        verdict = GO_ON
        if items and is_result(items[-1]):
            verdict = await self.ajudge(from_openai_responses(items), last.agent)
        if verdict.action.ends_run:
            raise verdict.as_error()
        sent = await _result_of(theirs(data)) if theirs else data.model_data
        if verdict.action is LoopAction.NOTIFY:
            notice = {"role": "user", "content": self.notice(verdict)}
            sent = replace(sent, input=[*sent.input, notice])
        return sent

    def _allowed(self, data: Any) -> Any:
        """Refuse the call, or let it run."""
        context, last = data.context, self._requests.now(data.agent.name)
        if last is None:
            _logger.warning(_UNKNOWN, data.agent.name)
            return ToolGuardrailFunctionOutput.allow()
        call = ToolCall(context.tool_name, context.tool_arguments, context.tool_call_id)
        self._requests.note(_item(call), last)
        verdict = self.replayed(from_openai_responses(last.items)).before(call)
        if verdict.action is LoopAction.BLOCK:
            return ToolGuardrailFunctionOutput.reject_content(verdict.message)
        return ToolGuardrailFunctionOutput.allow()

    async def _final_output(self, agent: Any, context: Any, results: Any) -> Any:
        """End the run if its last round says so."""
        theirs = await _decided(agent.tool_use_behavior, context, results)
        last = self._requests.now(agent.name)
        # An object as output cannot be made up here: the next request raises instead.
        if theirs.is_final_output or not last or agent.output_type not in (None, str):
            return theirs
        outputs = [result.run_item.raw_item for result in results if result.run_item]
        history = from_openai_responses(last.followed_by(outputs))
        verdict = await self.averdict_on(self.monitor(last.agent), history, last.agent)
        if verdict.action is not LoopAction.STOP:
            return theirs
        self.tell(verdict, last.agent)
        return ToolsToFinalOutputResult(True, stopped(verdict))


class _ReplyHooks(AgentHooks[Any]):
    """Note what a reply says, and which tools the provider has run for it.

    All else is done by the agent's hooks.
    """

    def __init__(self, requests: LastRequests, theirs: Optional[Any]) -> None:
        self._requests, self._theirs = requests, theirs
        for name in dir(AgentHooks):
            if theirs is not None and name.startswith("on_") and name != "on_llm_end":
                setattr(self, name, getattr(theirs, name))

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        last = self._requests.now(agent.name)
        if last is not None:
            kept = [item for item in response.output if is_message(item) or is_hosted_call(item)]
            # As it will be in the next request: without the fields that are not set.
            last.kept = [item.model_dump(exclude_unset=True) for item in kept]
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
