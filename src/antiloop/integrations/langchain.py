"""LangChain agents."""

import logging
from contextlib import contextmanager
from dataclasses import replace
from itertools import takewhile
from typing import Any, Awaitable, Callable, Dict, Iterator, List, Optional, Tuple

from ._needed import needed

with needed("langchain", "langchain", __name__):
    from langchain.agents.middleware import AgentMiddleware, AgentState, hook_config
    from langchain.agents.middleware.types import PrivateStateAttr
    from langchain_core.callbacks import BaseCallbackHandler
    from langchain_core.messages import AIMessage, HumanMessage
    from langchain_core.runnables.config import (
        ensure_config,
        merge_configs,
        var_child_runnable_config,
    )
    from typing_extensions import Annotated, NotRequired

from .._mistral import BRIDGE, is_of_mistral
from ..exceptions import SnapshotError
from ..formats import History, from_langchain
from ..formats._internal import field_of, text_of
from ..formats._internal import langchain as lc_messages
from ..loop_detection import LoopAction, LoopMonitor, LoopVerdict
from ..stability import beta, stable
from ..types import Role
from ._guard import WITHDRAWN, Guard, heeded, stopped
from ._thoughts import CirclingError, Thoughts
from .langgraph import _call_of, _is_refused, _refusal_of, _thread

__all__ = ["LoopGuard", "LoopGuardState"]

_logger = logging.getLogger("antiloop")
_WITHDRAWN = LoopVerdict(LoopAction.BLOCK, message=WITHDRAWN)


@beta
class LoopGuardState(AgentState[Any]):
    """The state beside the messages, in every checkpoint, but not in the output."""

    antiloop: NotRequired[Annotated[Dict[str, Any], PrivateStateAttr]]  # type: ignore[valid-type]
    """The state of each guard of the agent, by the name of the middleware."""


@stable
class LoopGuard(Guard, AgentMiddleware[Any, Any]):
    """Middleware for `create_agent`; see `Guard` for its arguments.

    Each round is judged before the next model call: the model gets a notice, or is asked for its
    last words, or the run ends with a last message that says why, or `LoopDetectedError` reaches
    the caller. Refused calls get an error as their result. The run is saved in a private field of
    the agent's state, so it survives checkpoints, and summaries that take old messages away. If a
    streamed model repeats itself without end in its thoughts, the stream is left and the run ends.

    Put it first in the list of middleware: it sees each round before a summary takes it away, and
    what a person decided about a call.
    """

    state_schema = LoopGuardState

    def before_agent(self, state: Any, runtime: Any) -> Optional[Dict[str, Any]]:
        """Begin a turn if the user has spoken: what came before no longer counts."""
        messages = state["messages"]
        if self.across_turns or not _user_spoke(messages):
            return None
        monitor = self._monitor(state)
        *_, said = (each for each in messages if lc_messages.kind_of(each) == "human")
        monitor.last_reply()  # what came before is saved to the observers
        monitor.user_message(text_of(said.content))
        self.tell_reply(monitor, _thread())
        return self._update(state, monitor, _id_of(_last_round(messages)))

    @hook_config(can_jump_to=["end"])
    def before_model(self, state: Any, runtime: Any) -> Optional[Dict[str, Any]]:
        """Judge the round whose results have just come in."""
        if self._is_judged(state):
            return None
        monitor, verdict, mark = self._recorded(state)
        return self._carried_out(state, monitor, self.asked(monitor, verdict, _thread()), mark)

    @hook_config(can_jump_to=["end"])
    async def abefore_model(self, state: Any, runtime: Any) -> Optional[Dict[str, Any]]:
        """Judge the round whose results have just come in."""
        if self._is_judged(state):
            return None
        monitor, verdict, mark = self._recorded(state)
        verdict = await self.aasked(monitor, verdict, _thread())
        return self._carried_out(state, monitor, verdict, mark)

    def _recorded(self, state: Any) -> Tuple[LoopMonitor, LoopVerdict, int]:
        monitor, messages = self._monitor(state), state["messages"]
        together = _last_round(messages)
        held = sum(len(lc_messages.calls_of(each)) for each in _before(together, messages))
        mark = heeded(monitor, self._saved(state).get("mark"), held)
        return monitor, self.record(monitor, _read(together)), mark

    def _carried_out(
        self, state: Any, monitor: LoopMonitor, verdict: LoopVerdict, mark: int
    ) -> Dict[str, Any]:
        """Do what a verdict says, and return what is to be kept."""
        together = _last_round(state["messages"])
        if together:
            self.tell(verdict, _thread(), monitor)
        if verdict.action is LoopAction.RAISE:
            raise verdict.as_error()
        has_notice = verdict.action in (LoopAction.NOTIFY, LoopAction.CONCLUDE)
        notice = self.notice(verdict) if has_notice else ""
        ending = stopped(verdict) if verdict.action is LoopAction.CONCLUDE else ""
        judged = _id_of(together) or self._saved(state).get("judged")
        update = self._update(state, monitor, judged, notice, mark, ending)
        if verdict.action is LoopAction.STOP:
            update.update(messages=[AIMessage(stopped(verdict))], jump_to="end")
        return update

    @hook_config(can_jump_to=["model", "end"])
    def after_model(self, state: Any, runtime: Any) -> Optional[Dict[str, Any]]:
        """Answer the calls that are refused, so that only the others run."""
        together, monitor = _last_round(state["messages"]), self._monitor(state)
        pending = _pending_in(together)
        ending = self._saved(state).get("ending")
        if ending and pending:  # the model was asked for its last words, and calls all the same
            answered = [_refusal_of(call, _WITHDRAWN) for call in pending]
            last = AIMessage(text_of(together[0].content) or ending)
            return {"messages": [*answered, last], "jump_to": "end"}
        verdicts = [(call, monitor.before(_call_of(call))) for call in pending]
        refused = [_refusal_of(call, each) for call, each in verdicts if _is_refused(each)]
        if not refused:
            return None
        # A reply of which nothing will run needs no approval.
        is_whole = len(refused) == len(together[0].tool_calls)
        return {"messages": refused, **({"jump_to": "model"} if is_whole else {})}

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Add the notice to what the model is asked, unstored; hear its thoughts if they stream."""
        try:
            with _heard_by(_Listener(Thoughts(self, _thread()))):
                return handler(self._with_notice(request))
        except CirclingError as left:
            return AIMessage(left.last_words())

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Do what `wrap_model_call` does."""
        try:
            with _heard_by(_Listener(Thoughts(self, _thread()))):
                return await handler(self._with_notice(request))
        except CirclingError as left:
            return AIMessage(left.last_words())

    def _monitor(self, state: Any) -> LoopMonitor:
        """Take up the run where the last hook left it, else from what the conversation holds."""
        messages, saved = state["messages"], self._saved(state)
        if saved:
            monitor = self.monitor(_thread())
            try:
                monitor.restore(saved.get("run", {}))
                return monitor
            except SnapshotError as error:
                _logger.warning("the checkpoint cannot be used, the messages are read: %s", error)
        past = _before(_last_round(messages), messages)
        return self.replayed(from_langchain(self.recent(past)), _thread())

    def _saved(self, state: Any) -> Dict[str, Any]:
        """Return what the hook before left; nothing in a run that began without the guard."""
        saved = (state.get("antiloop") or {}).get(self.name)
        return saved if isinstance(saved, dict) else {}

    def _is_judged(self, state: Any) -> bool:
        """Whether the model is asked once more after the same round."""
        judged = self._saved(state).get("judged")
        return bool(judged) and judged == _id_of(_last_round(state["messages"]))

    def _update(
        self,
        state: Any,
        monitor: LoopMonitor,
        judged: Optional[str] = None,
        notice: str = "",
        mark: int = 0,
        ending: str = "",
    ) -> Dict[str, Any]:
        saved = {"run": monitor.snapshot(), "judged": judged, "notice": notice, "mark": mark}
        saved["ending"] = ending
        return {"antiloop": {**(state.get("antiloop") or {}), self.name: saved}}

    def _with_notice(self, request: Any) -> Any:
        notice = self._saved(request.state).get("notice")
        if not notice:
            return request
        bridge = [AIMessage(BRIDGE)] if _wants_bridge(request) else []
        return request.override(messages=[*request.messages, *bridge, HumanMessage(notice)])


class _Listener(BaseCallbackHandler):
    """Judges what a model thinks, and leaves the stream where that repeats itself without end."""

    raise_error = True  # else LangChain would log what is raised here, and go on
    run_inline = True

    def __init__(self, thoughts: Thoughts) -> None:
        self._thoughts = thoughts

    def on_llm_new_token(self, token: Any, *, chunk: Any = None, **_: Any) -> None:
        for piece in lc_messages.thoughts_of(field_of(chunk, "message")):
            self._thoughts.check(piece)


@contextmanager
def _heard_by(listener: _Listener) -> Iterator[None]:
    """Let a listener hear the models that are asked in this block."""
    config = merge_configs(ensure_config(), {"callbacks": [listener]})
    before = var_child_runnable_config.set(config)
    try:
        yield
    finally:
        var_child_runnable_config.reset(before)


def _wants_bridge(request: Any) -> bool:
    """Whether a model has to speak before a user's message."""
    model = request.model
    named = text_of(field_of(model, "model_name")) or text_of(field_of(model, "model"))
    is_result = lc_messages.kind_of(request.messages[-1]) == "tool"
    return is_result and is_of_mistral(f"{type(model).__name__} {named}")


def _last_round(messages: List[Any]) -> List[Any]:
    """Return the last reply and all that came after it; nothing if it asks for no tool.

    A tool may add a user's message, such as a picture; it does not end the round.
    """
    for position in range(len(messages) - 1, -1, -1):
        if lc_messages.kind_of(messages[position]) == "ai":
            return messages[position:] if lc_messages.calls_of(messages[position]) else []
    return []


def _before(together: List[Any], messages: List[Any]) -> List[Any]:
    """Return the messages before the last round."""
    return messages[: len(messages) - len(together)]


def _id_of(together: List[Any]) -> Optional[str]:
    """Return the id of the reply; None if there is none."""
    return together[0].id if together else None


def _read(together: List[Any]) -> History:
    """Read a round; what tools show as messages of the user is part of what they gave."""
    history = from_langchain(together)
    shown = [text_of(each.content) for each in together if lc_messages.kind_of(each) == "human"]
    results = (
        given and replace(given, text="\n".join([given.text, *shown])) for given in history.results
    )
    said = tuple(each for each in history.messages if each.role is not Role.USER)
    return replace(history, results=tuple(results), turn_starts=(), messages=said)


def _pending_in(together: List[Any]) -> List[Any]:
    """Return the calls without an answer."""
    answered = {
        message.tool_call_id for message in together if lc_messages.kind_of(message) == "tool"
    }
    calls = together[0].tool_calls if together else []
    return [call for call in calls if call["id"] not in answered]


def _user_spoke(messages: List[Any]) -> bool:
    """Whether the user has spoken since the last reply or result."""
    latest = takewhile(
        lambda kind: kind not in ("ai", "tool"), map(lc_messages.kind_of, messages[::-1])
    )
    return "human" in latest
