"""Google ADK agents."""

from types import SimpleNamespace
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

from ._needed import needed

with needed("google-adk", "adk", __name__):
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

from .._latest import Latest
from ..formats import from_adk
from ..formats._internal import adk as adk_events
from ..loop_detection import LoopAction
from ..stability import stable
from ..types import ToolCall
from ._guard import Guard, stopped

__all__ = ["LoopGuard"]

_LAST_REQUESTS = 1_000  # of models that were asked for their last words and never replied
_CUT_RUNS = 1_000  # of agents whose requests hold less than their session
_CUTS = 1_000  # of one of them


@stable
class LoopGuard(Guard, BasePlugin):
    """Plugin for `App`; see `Guard` for its arguments.

    Each round is judged before the model is asked again: a notice is added to the request, or the
    model is asked for its last words without its tools, or the agent's answer says why it ends, or
    `LoopDetectedError` is raised, which ADK wraps: it is the `__cause__` of a `RuntimeError`.
    Refused calls give ``{"error": ...}``.

    All is read off the events of the session, those of the agent's own in its own branch, so one
    plugin serves all agents of an app, and a session that is resumed elsewhere goes on as the
    unbroken one. Messages that a compaction of the session, or a filter before this plugin, takes
    away from the model do not count as known.
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
        # For each run whose requests were filtered: after which event, and what was taken away.
        self._cuts: Latest[Tuple[Any, ...], Latest[str, Any]] = Latest(_CUT_RUNS)

    async def before_model_callback(
        self, *, callback_context: Any, llm_request: Any
    ) -> Optional[LlmResponse]:
        """Judge the round whose results have just come in."""
        self._endings.pop(_place(callback_context), None)
        own = self._own_events(callback_context)
        latest = next((event for event in reversed(own) if event.content is not None), None)
        if latest is None or not _has_acted(latest):
            return None
        self._note_filtered(callback_context, own, llm_request.contents)
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
        verdict = self.before(from_adk(self.recent(self._own_events(tool_context))), call)
        return {"error": verdict.message} if verdict.action is LoopAction.BLOCK else None

    def _own_events(self, context: Any) -> List[Any]:
        """Return the events of an agent, what the user said, and where the context was cut down.

        Agents share a session; one that runs side by side with itself has branches. A compaction is
        an event of the user's without content: it may come after the results that are to be judged.
        """
        cuts: Mapping[str, Any] = self._cuts.get(_conversation(context)) or {}
        own: List[Any] = []
        for event in context.session.events:
            if _is_own(event, context):
                own.append(event)
            if event.id in cuts:
                own.append(cuts[event.id])
        return own

    def _note_filtered(self, context: Any, own: Sequence[Any], contents: Iterable[Any]) -> None:
        """Note as a compaction what the model knew and a request does not hold."""
        held = sum(part.function_call is not None for each in contents for part in each.parts or ())
        known = adk_events.held_calls(own)
        if held < len(known):
            compaction = SimpleNamespace(end_timestamp=known[len(known) - held - 1])
            actions = SimpleNamespace(compaction=compaction)
            cut = SimpleNamespace(author="user", content=None, partial=False, actions=actions)
            cuts = self._cuts.get(_conversation(context)) or Latest(_CUTS)
            cuts[context.session.events[-1].id] = cut
            self._cuts[_conversation(context)] = cuts


def _place(context: Any) -> Tuple[Any, ...]:
    """Return what identifies the run of one agent; sessions run side by side."""
    return (context.session.id, context.invocation_id, context.agent_name, context.branch)


def _conversation(context: Any) -> Tuple[Any, ...]:
    """Return what identifies the conversation of one agent, over all its turns."""
    return (context.session.id, context.agent_name, context.branch)


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
        return adk_events.compaction_of(event) is not None
    said_here = event.author == context.agent_name and event.branch == context.branch
    return said_here or event.author == "user"


def _content(role: str, text: str) -> Content:
    return Content(role=role, parts=[Part(text=text)])
