"""Google ADK agents."""

from typing import Any, Dict, List, Optional, Tuple

try:
    from google.adk.models.llm_response import LlmResponse
    from google.adk.plugins.base_plugin import BasePlugin
    from google.genai.types import (
        Content,
        FunctionCallingConfig,
        FunctionCallingConfigMode,
        GenerateContentConfig,
        Part,
        ToolConfig,
    )
except ImportError as _missing:
    raise ImportError(
        'antiloop.integrations.adk needs google-adk: pip install "antiloop[adk]"'
    ) from _missing

from .._latest import Latest
from ..formats import from_adk
from ..loop_detection import LoopAction
from ..stability import stable
from ..types import ToolCall
from ._guard import Guard, stopped

__all__ = ["LoopGuard"]

_LAST_REQUESTS = 1_000  # of models that were asked for their last words and never replied


@stable
class LoopGuard(Guard, BasePlugin):
    """Plugin for `App`; see `Guard` for its arguments.

    Each round is judged before the model is asked again: a notice is added to the request, or the
    model is asked for its last words without its tools, or the agent's answer says why it ends, or
    `LoopDetectedError` is raised, which ADK wraps: it is the `__cause__` of a `RuntimeError`.
    Refused calls give ``{"error": ...}``.

    All is read off the events of the session, those of the agent's own in its own branch, so one
    plugin serves all agents of an app, and a session that is resumed elsewhere goes on as the
    unbroken one.
    """

    own_tools = (
        "adk_request_confirmation",
        "adk_request_credential",
        "adk_request_input",
        "set_model_response",  # the answer, where an agent has tools and an output schema
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        Guard.__init__(self, *args, **options)
        BasePlugin.__init__(self, name="antiloop")
        # Why each run under way ends whose model is saying its last words.
        self._endings: Latest[Tuple[Any, ...], str] = Latest(_LAST_REQUESTS)

    async def before_model_callback(
        self, *, callback_context: Any, llm_request: Any
    ) -> Optional[LlmResponse]:
        """Judge the round whose results have just come in."""
        self._endings.pop(_place(callback_context), None)
        own = _own_events(callback_context)
        if not own or not _has_acted(own[-1]):
            return None
        verdict = await self.ajudge(from_adk(self.recent(own)), callback_context.session.id)
        if verdict.action is LoopAction.RAISE:
            raise verdict.as_error()
        if verdict.action in (LoopAction.NOTIFY, LoopAction.CONCLUDE):
            llm_request.contents.append(_content("user", self.notice(verdict)))
        if verdict.action is LoopAction.CONCLUDE:
            self._endings[_place(callback_context)] = stopped(verdict)
            _withdraw_tools(llm_request)
        if verdict.action is LoopAction.STOP:
            return LlmResponse(content=_content("model", stopped(verdict)))
        return None

    async def after_model_callback(
        self, *, callback_context: Any, llm_response: Any
    ) -> Optional[LlmResponse]:
        """Leave out the calls of a model that was asked for its last words."""
        ending = self._endings.get(_place(callback_context))
        if ending is None or llm_response.content is None:
            return None
        parts = [each for each in llm_response.content.parts or () if not each.function_call]
        if not llm_response.partial and not any(each.text for each in parts):
            parts.append(Part(text=ending))
        content = Content(role="model", parts=parts)
        changed: LlmResponse = llm_response.model_copy(update={"content": content})
        return changed

    async def before_tool_callback(
        self, *, tool: Any, tool_args: Dict[str, Any], tool_context: Any
    ) -> Optional[Dict[str, Any]]:
        """Answer a call that is refused."""
        call = ToolCall(tool.name, tool_args, tool_context.function_call_id)
        verdict = self.before(from_adk(self.recent(_own_events(tool_context))), call)
        return {"error": verdict.message} if verdict.action is LoopAction.BLOCK else None


def _own_events(context: Any) -> List[Any]:
    """Return the events of an agent, and what the user said.

    Agents share a session; one that runs side by side with itself has branches. A compaction is an
    event of the user's without content: it may come after the results that are to be judged.
    """
    return [event for event in context.session.events if _is_own(event, context)]


def _place(context: Any) -> Tuple[Any, ...]:
    """Return what identifies the run of one agent; sessions run side by side."""
    return (context.session.id, context.invocation_id, context.agent_name, context.branch)


def _withdraw_tools(llm_request: Any) -> None:
    # The tools stay in the request: some APIs refuse a conversation that speaks of others.
    llm_request.config = llm_request.config or GenerateContentConfig()
    calling = FunctionCallingConfig(mode=FunctionCallingConfigMode.NONE)
    llm_request.config.tool_config = ToolConfig(function_calling_config=calling)


def _has_acted(event: Any) -> bool:
    """Whether a reply is over: results have come in, or the agent is asked again after words."""
    return event.get_function_responses() or event.author != "user"


def _is_own(event: Any, context: Any) -> bool:
    if event.content is None:
        return False
    said_here = event.author == context.agent_name and event.branch == context.branch
    return said_here or event.author == "user"


def _content(role: str, text: str) -> Content:
    return Content(role=role, parts=[Part(text=text)])
