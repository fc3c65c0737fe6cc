"""LangChain agents."""

import logging
from typing import Any, Awaitable, Callable, Dict, Optional, Tuple

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState, hook_config
    from langchain.agents.middleware.types import PrivateStateAttr
    from langchain_core.messages import AIMessage, HumanMessage
    from typing_extensions import Annotated, NotRequired
except ImportError as error:
    raise ImportError(
        'antiloop.integrations.langchain needs langchain: pip install "antiloop[langchain]"'
    ) from error

from ..exceptions import SnapshotError
from ..formats import from_langchain
from ..loop_detection import LoopAction, LoopMonitor, LoopVerdict
from ..stability import beta
from .guard import Guard, stopped
from .langchain_round import id_of, last_round, pending_in, read, user_spoke
from .langgraph import call_of, is_refused, refusal_of, thread

_logger = logging.getLogger("antiloop")


@beta
class LoopGuardState(AgentState[Any]):
    """The state beside the messages, in every checkpoint, but not in the output."""

    antiloop: NotRequired[Annotated[Dict[str, Any], PrivateStateAttr]]  # type: ignore[valid-type]
    """What each guard of the agent knows, by the name of the middleware."""


@beta
class LoopGuard(Guard, AgentMiddleware[Any, Any]):
    """Middleware for `create_agent`; see `Guard` for its arguments.

    Each round is judged before the next model call: the model gets a notice, or the run ends with a
    last message that says why, or `LoopDetectedError` reaches the caller. Refused calls get an
    error as their result. What is known of the run is a private field of the agent's state, so it
    survives checkpoints, and summaries that take the old messages away.

    Put it first in the list of middleware: it sees each round before a summary takes it away, and
    what a person decided about a call.
    """

    state_schema = LoopGuardState

    def before_agent(self, state: Any, runtime: Any) -> Optional[Dict[str, Any]]:
        """Begin a turn if the user has spoken: what came before no longer counts."""
        messages = state["messages"]
        if self.across_turns or not user_spoke(messages):
            return None
        monitor = self._monitor(state)
        monitor.user_message()
        return self._update(state, monitor, id_of(last_round(messages)))

    @hook_config(can_jump_to=["end"])
    def before_model(self, state: Any, runtime: Any) -> Optional[Dict[str, Any]]:
        """Judge the round whose results have just come in."""
        if self._is_judged(state):
            return None
        monitor, verdict = self._recorded(state)
        return self._carried_out(state, monitor, self.asked(monitor, verdict, thread()))

    @hook_config(can_jump_to=["end"])
    async def abefore_model(self, state: Any, runtime: Any) -> Optional[Dict[str, Any]]:
        """Judge the round whose results have just come in."""
        if self._is_judged(state):
            return None
        monitor, verdict = self._recorded(state)
        return self._carried_out(state, monitor, await self.aasked(monitor, verdict, thread()))

    def _recorded(self, state: Any) -> Tuple[LoopMonitor, LoopVerdict]:
        monitor = self._monitor(state)
        return monitor, self.record(monitor, read(last_round(state["messages"])))

    def _carried_out(
        self, state: Any, monitor: LoopMonitor, verdict: LoopVerdict
    ) -> Dict[str, Any]:
        """Do what a verdict says, and return what is to be kept."""
        together = last_round(state["messages"])
        if together:
            self.tell(verdict, thread())
        if verdict.action is LoopAction.RAISE:
            raise verdict.as_error()
        notice = self.notice(verdict) if verdict.action is LoopAction.NOTIFY else ""
        judged = id_of(together) or self._known(state).get("judged")
        update = self._update(state, monitor, judged, notice)
        if verdict.action is LoopAction.STOP:
            update.update(messages=[AIMessage(stopped(verdict))], jump_to="end")
        return update

    @hook_config(can_jump_to=["model"])
    def after_model(self, state: Any, runtime: Any) -> Optional[Dict[str, Any]]:
        """Answer the calls that are refused, so that only the others run."""
        together, monitor = last_round(state["messages"]), self._monitor(state)
        pending = pending_in(together)
        verdicts = [(call, monitor.before(call_of(call))) for call in pending]
        refused = [refusal_of(call, each) for call, each in verdicts if is_refused(each)]
        if not refused:
            return None
        # A reply of which nothing will run needs no approval.
        is_whole = len(refused) == len(together[0].tool_calls)
        return {"messages": refused, **({"jump_to": "model"} if is_whole else {})}

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Add the notice to what the model is asked; it is not stored."""
        return handler(self._with_notice(request))

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Add the notice to what the model is asked; it is not stored."""
        return await handler(self._with_notice(request))

    def _monitor(self, state: Any) -> LoopMonitor:
        """Take up the run where the last hook left it, else from what the conversation holds."""
        messages, known = state["messages"], self._known(state)
        if known:
            monitor = self.monitor(thread())
            try:
                monitor.restore(known.get("run", {}))
                return monitor
            except SnapshotError as error:
                _logger.warning("the checkpoint cannot be used, the messages are read: %s", error)
        past = messages[: len(messages) - len(last_round(messages))]
        return self.replayed(from_langchain(self.recent(past)), thread())

    def _known(self, state: Any) -> Dict[str, Any]:
        """Return what the hook before left; nothing in a run that began without the guard."""
        known = (state.get("antiloop") or {}).get(self.name)
        return known if isinstance(known, dict) else {}

    def _is_judged(self, state: Any) -> bool:
        """Whether the model is asked once more after the same round."""
        judged = self._known(state).get("judged")
        return bool(judged) and judged == id_of(last_round(state["messages"]))

    def _update(
        self, state: Any, monitor: LoopMonitor, judged: Optional[str] = None, notice: str = ""
    ) -> Dict[str, Any]:
        known = {"run": monitor.snapshot(), "judged": judged, "notice": notice}
        return {"antiloop": {**(state.get("antiloop") or {}), self.name: known}}

    def _with_notice(self, request: Any) -> Any:
        notice = self._known(request.state).get("notice")
        if not notice:
            return request
        return request.override(messages=[*request.messages, HumanMessage(notice)])
