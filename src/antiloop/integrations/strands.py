"""Strands agents."""

from typing import Any, Sequence
from weakref import WeakKeyDictionary

try:
    from strands.hooks import (
        AfterInvocationEvent,
        BeforeModelCallEvent,
        BeforeToolCallEvent,
        HookOrder,
        HookRegistry,
    )
except ImportError as error:
    raise ImportError(
        "antiloop.integrations.strands needs strands-agents 1.43 or later:"
        ' pip install "antiloop[strands]"'
    ) from error

from ..exceptions import LoopDetectedError
from ..formats import History, from_strands
from ..loop_detection import LoopAction
from ..stability import beta
from ..types import ToolCall
from .guard import Guard, stopped


@beta
class LoopGuard(Guard):
    """Hooks for `Agent`; see `Guard` for its arguments.

    Each round is judged before the model is asked again: a notice is added to the message with the
    results, or the model is not asked and the last message says why. After that message
    `LoopDetectedError` reaches the caller, unwrapped, where the policy is to raise. Refused calls
    get an error as their result.

    All is read off `agent.messages`, so one guard serves many agents, and a session that is resumed
    elsewhere goes on as the unbroken one.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # What an agent knows between two hooks of one invocation; it runs one at a time.
        self._judged: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
        self._errors: WeakKeyDictionary[Any, LoopDetectedError] = WeakKeyDictionary()

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        """Add the hooks to an agent; Strands calls this."""
        registry.add_callback(BeforeModelCallEvent, self._before_model)
        registry.add_callback(BeforeToolCallEvent, self._before_tool)
        # What others do at the end of a run is done before the error leaves it.
        registry.add_callback(AfterInvocationEvent, self._after_run, order=HookOrder.SDK_LAST)

    def _before_model(self, event: BeforeModelCallEvent) -> None:
        """Judge the round whose results have just come in."""
        agent, messages = event.agent, event.agent.messages
        # The model is asked again after a connection that broke.
        if not _end_in_results(messages) or self._judged.get(agent) is messages[-1]:
            return
        self._judged[agent] = messages[-1]
        verdict = self.judge(self._history(agent), str(agent.agent_id))
        if verdict.action is LoopAction.NOTIFY:
            messages[-1]["content"].append({"text": self.notice(verdict)})
        if verdict.action.ends_run:
            event.cancel = stopped(verdict)
        if verdict.action is LoopAction.RAISE:
            self._errors[agent] = verdict.as_error()

    def _before_tool(self, event: BeforeToolCallEvent) -> None:
        """Answer a call that is refused."""
        use = event.tool_use
        call = ToolCall(use["name"], use["input"], use["toolUseId"])
        verdict = self.before(self._history(event.agent), call)
        if verdict.action is LoopAction.BLOCK:
            event.cancel_tool = verdict.message

    def _after_run(self, event: AfterInvocationEvent) -> None:
        """Raise here: an error from where the model is asked would be wrapped."""
        self._judged.pop(event.agent, None)
        error = self._errors.pop(event.agent, None)
        if error is not None:
            raise error

    def _history(self, agent: Any) -> History:
        return from_strands(self.recent(agent.messages))


def _end_in_results(messages: Sequence[Any]) -> bool:
    return any("toolResult" in block for message in messages[-1:] for block in message["content"])
