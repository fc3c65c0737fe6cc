"""Graphs that are made by hand, with LangGraph's `ToolNode`."""

import logging
from typing import Any, Awaitable, Callable, Dict, List, Optional, Protocol, Sequence

from ._needed import needed

with needed("langgraph", "langgraph", __name__):
    from langchain_core.messages import ToolMessage
    from langchain_core.runnables import ensure_config

from ..formats import History, from_langchain
from ..loop_detection import LoopAction, LoopVerdict
from ..stability import stable
from ..types import ToolCall
from ._guard import Guard

__all__ = ["LoopGuard"]

_logger = logging.getLogger("antiloop")


class _ConversationWatch(Protocol):
    """Reads what is new in a conversation."""

    def follow(
        self, run_id: str, messages: Sequence[Any], read: Callable[[Sequence[Any]], History]
    ) -> None:
        """Take what a conversation has more than the last time."""


@stable
class LoopGuard(Guard):
    """Wrapper for a `ToolNode`, ``ToolNode(tools, **guard.wrappers)``; see `Guard` for arguments.

    A node can refuse calls, no more: ask `verdict` where your graph asks the model, to add its
    notice, to raise, or to end. All is read off the messages in the state of the graph, so they
    must be kept whole.

    Args:
        messages_key: key of the messages in the state, as for `ToolNode`.
        health: an `antiloop.health.HealthWatch`, which receives each round by thread.
        args, options: those of `Guard`.
    """

    def __init__(
        self,
        *args: Any,
        messages_key: str = "messages",
        health: Optional[_ConversationWatch] = None,
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        self._messages_key = messages_key
        self._health = health

    @property
    def wrappers(self) -> Dict[str, Any]:
        """The arguments of `ToolNode` that hook this in, sync and async."""
        return {"wrap_tool_call": self._wrap, "awrap_tool_call": self._awrap}

    def verdict(self, messages: List[Any]) -> LoopVerdict:
        """Judge the conversation before the model is asked again; once a round."""
        self._follow(messages)
        return self.judge(from_langchain(self.recent(messages)), _thread())

    async def averdict(self, messages: List[Any]) -> LoopVerdict:
        """Do what `verdict` does in an async node: a judge does not block the event loop."""
        self._follow(messages)
        return await self.ajudge(from_langchain(self.recent(messages)), _thread())

    def _follow(self, messages: List[Any]) -> None:
        if self._health is not None:
            try:
                self._health.follow(_thread(), messages, from_langchain)
            except Exception:
                _logger.exception("the health of a run could not be judged; the run goes on")

    def _wrap(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        return self._refused(request) or handler(request)

    async def _awrap(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        return self._refused(request) or await handler(request)

    def _refused(self, request: Any) -> Optional[ToolMessage]:
        call, messages = request.tool_call, self._messages(request.state)
        verdict = self.before(from_langchain(self.recent(messages)), _call_of(call))
        return _refusal_of(call, verdict) if _is_refused(verdict) else None

    def _messages(self, state: Any) -> List[Any]:
        if isinstance(state, list):
            return state
        key = self._messages_key
        return state[key] if isinstance(state, dict) else getattr(state, key)


def _call_of(call: Any) -> ToolCall:
    """Return a call as the detectors know it."""
    return ToolCall(call["name"], call["args"], call["id"])


def _is_refused(verdict: LoopVerdict) -> bool:
    """Whether a call may not run."""
    return verdict.action is LoopAction.BLOCK


def _refusal_of(call: Any, verdict: LoopVerdict) -> ToolMessage:
    """Return the answer to a call that is refused."""
    return ToolMessage(verdict.message, tool_call_id=call["id"], name=call["name"], status="error")


def _thread() -> str:
    """Name the thread that runs now; empty if there is none."""
    return str(ensure_config().get("configurable", {}).get("thread_id", ""))
