"""LangChain agents and LangGraph graphs."""

from dataclasses import replace
from typing import Any, Awaitable, Callable, Dict, List, Optional

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState, hook_config
    from langchain.agents.middleware.types import PrivateStateAttr
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
    from langgraph.config import get_config
    from typing_extensions import Annotated, NotRequired
except ImportError as error:
    raise ImportError(
        'antiloop.integrations.langchain needs langchain: pip install "antiloop[langchain]"'
    ) from error

from ..formats import from_langchain
from ..loop_detection import LoopAction, LoopMonitor, LoopVerdict
from ..types import ToolCall
from .guard import Guard, stopped


class _State(AgentState[Any]):
    """What is kept beside the messages, in every checkpoint."""

    antiloop: NotRequired[Annotated[Dict[str, Any], PrivateStateAttr]]  # type: ignore[valid-type]


class LoopGuard(Guard, AgentMiddleware[Any, Any]):
    """Middleware for `create_agent`; see `Guard` for its arguments.

    Each round is judged before the model is asked again: the model is told, or the run ends with a
    last message that says why, or `LoopDetectedError` reaches the caller. Refused calls get an
    error as their result. What is known of the run is a private field of the agent's state, so it
    survives checkpoints, and summaries that take the old messages away.

    Put it last in the list of middleware, so that it sees a reply before a person is asked to
    approve it.
    """

    state_schema = _State

    def before_agent(self, state: Any, runtime: Any) -> Optional[Dict[str, Any]]:
        """Begin a turn of the user; read the calls of a conversation that begins elsewhere."""
        messages, known = state["messages"], state.get("antiloop")
        if known is None:
            past = messages[: _last_round(messages)]
            return _update(self.replayed(from_langchain(self.recent(past))))
        if self.across_turns or not isinstance(messages[-1], HumanMessage):
            return None
        monitor = self._monitor(state)
        monitor.user_message()
        return _update(monitor, known["judged"])

    @hook_config(can_jump_to=["end"])
    def before_model(self, state: Any, runtime: Any) -> Optional[Dict[str, Any]]:
        """Judge the round whose results have just come in."""
        monitor, judged = self._monitor(state), state["antiloop"]["judged"]
        messages = state["messages"][_last_round(state["messages"]) :]
        if not messages or messages[0].id == judged:
            return _update(monitor, judged)
        together = from_langchain(messages)
        # Models that are replayed use ids again; a number of our own tells the rounds apart.
        calls = [replace(call, round=monitor.call_count) for call in together.calls]
        verdict = monitor.after(calls, together.results)
        self.tell(verdict, _thread())
        if verdict.action is LoopAction.RAISE and verdict.detection:
            raise verdict.detection.as_error()
        notice = self.notice(verdict) if verdict.action is LoopAction.NOTIFY else ""
        update = _update(monitor, messages[0].id, notice)
        if verdict.action is LoopAction.STOP:
            update.update(messages=[AIMessage(stopped(verdict))], jump_to="end")
        return update

    def after_model(self, state: Any, runtime: Any) -> Optional[Dict[str, Any]]:
        """Answer the calls that are refused, so that only the others run."""
        monitor = self._monitor(state)
        calls = getattr(state["messages"][-1], "tool_calls", None) or ()
        verdicts = [(call, monitor.before(_call(call))) for call in calls]
        refused = [_refusal(call, each) for call, each in verdicts if _is_refused(each)]
        return {"messages": refused} if refused else None

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Add the notice to what the model is asked; it is not stored."""
        return handler(_with_notice(request))

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Add the notice to what the model is asked; it is not stored."""
        return await handler(_with_notice(request))

    def _monitor(self, state: Any) -> LoopMonitor:
        monitor = self.monitor()
        monitor.restore(state["antiloop"]["run"])
        return monitor


class ToolNodeGuard(Guard):
    """Wrapper for a raw `ToolNode`: ``ToolNode(tools, **guard.wrappers)``.

    A node can refuse calls, no more: ask `verdict` where your graph asks the model, to add its
    notice, to raise, or to take the edge to the end.
    """

    @property
    def wrappers(self) -> Dict[str, Any]:
        """The arguments of `ToolNode` that hook this in, sync and async."""
        return {"wrap_tool_call": self._wrap, "awrap_tool_call": self._awrap}

    def verdict(self, messages: List[Any]) -> LoopVerdict:
        """Judge the conversation before the model is asked again; once a round."""
        return self.judge(from_langchain(self.recent(messages)), _thread())

    def _wrap(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        return self._refused(request) or handler(request)

    async def _awrap(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        return self._refused(request) or await handler(request)

    def _refused(self, request: Any) -> Optional[ToolMessage]:
        state, call = request.state, request.tool_call
        messages = state["messages"] if isinstance(state, dict) else state
        verdict = self.before(from_langchain(self.recent(messages)), _call(call))
        return _refusal(call, verdict) if _is_refused(verdict) else None


def _update(monitor: LoopMonitor, judged: Optional[str] = None, notice: str = "") -> Dict[str, Any]:
    return {"antiloop": {"run": monitor.snapshot(), "judged": judged, "notice": notice}}


def _last_round(messages: List[Any]) -> int:
    """Give where the last round begins; the end if the last reply, or the user, asks no tool."""
    for position in range(len(messages) - 1, -1, -1):
        message = messages[position]
        if isinstance(message, AIMessage) and (message.tool_calls or message.invalid_tool_calls):
            return position
        if isinstance(message, (AIMessage, HumanMessage)):
            break
    return len(messages)


def _call(call: Any) -> ToolCall:
    return ToolCall(call["name"], call["args"], call["id"])


def _is_refused(verdict: LoopVerdict) -> bool:
    return verdict.action is LoopAction.BLOCK


def _refusal(call: Any, verdict: LoopVerdict) -> ToolMessage:
    return ToolMessage(verdict.message, tool_call_id=call["id"], name=call["name"], status="error")


def _with_notice(request: Any) -> Any:
    notice = request.state["antiloop"]["notice"]
    return (
        request.override(messages=[*request.messages, HumanMessage(notice)]) if notice else request
    )


def _thread() -> str:
    return str(get_config().get("configurable", {}).get("thread_id", ""))
