"""Strands agents."""

from copy import copy
from typing import Any, AsyncIterator, Callable, List, Sequence
from weakref import WeakKeyDictionary

from ._needed import needed

with needed("strands-agents 1.43 or later", "strands", __name__):
    from strands.hooks import (
        AfterInvocationEvent,
        AgentInitializedEvent,
        BeforeModelCallEvent,
        BeforeToolCallEvent,
        HookOrder,
        HookRegistry,
    )
try:
    from strands.middleware import InvokeModelStage
except ImportError:  # an older version: no hook hears what is streamed
    InvokeModelStage = None

from ..exceptions import LoopDetectedError, SnapshotError
from ..formats import History, from_strands, rounds_of
from ..formats._internal import text_of
from ..loop_detection import LoopAction, LoopMonitor, LoopVerdict
from ..stability import stable
from ..types import ToolCall
from ._guard import WITHDRAWN, Guard, heeded, stopped
from ._lookout import detector_key
from ._thoughts import Thoughts

__all__ = ["LoopGuard"]


@stable
class LoopGuard(Guard):
    """Hooks for `Agent`; see `Guard` for its arguments.

    Each round is judged before the model is asked again: a notice is added to the message with the
    results, or the model is asked for its last words and no tool runs any more, or the model is not
    asked and the last message says why. After that message `LoopDetectedError` reaches the caller,
    unwrapped, where the policy is to raise. Refused calls get an error as their result. If the
    model repeats itself without end in its thoughts, the run is cancelled.

    The run is saved in `agent.state` too, so it does not matter what a conversation manager takes
    out of `agent.messages`. One guard serves many agents, and a session that is resumed elsewhere
    goes on as the unbroken one.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # What an agent knows between two hooks of one invocation; it runs one at a time.
        self._judged: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
        self._monitors: WeakKeyDictionary[Any, LoopMonitor] = WeakKeyDictionary()
        self._marks: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
        # Guards of different detectors may watch one agent.
        self._key = f"antiloop-{detector_key(self.detector, self._ignored)}"
        self._errors: WeakKeyDictionary[Any, LoopDetectedError] = WeakKeyDictionary()
        # Why the run ends of each agent whose model is saying its last words.
        self._endings: WeakKeyDictionary[Any, str] = WeakKeyDictionary()

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        """Add the hooks to an agent; Strands calls this."""
        if InvokeModelStage is not None:
            registry.add_callback(AgentInitializedEvent, self._begin_to_hear)
        registry.add_callback(BeforeModelCallEvent, self._before_model)
        registry.add_callback(BeforeToolCallEvent, self._before_tool)
        # What others do at the end of a run is done before the error leaves it.
        registry.add_callback(AfterInvocationEvent, self._after_run, order=HookOrder.SDK_LAST)

    def _begin_to_hear(self, event: AgentInitializedEvent) -> None:
        event.agent.add_middleware(InvokeModelStage, self._streamed)

    async def _streamed(
        self, context: Any, ask: Callable[[Any], AsyncIterator[Any]]
    ) -> AsyncIterator[Any]:
        """Pass on a stream; end it where the model repeats itself without end in its thoughts."""
        agent = context.agent
        thoughts = Thoughts(self, str(agent.agent_id))
        async for event in ask(context):
            verdict = thoughts.hear(text_of(event.get("reasoningText")))
            if verdict.action is not LoopAction.CONTINUE:
                agent.cancel(message=stopped(verdict))
            if verdict.action is LoopAction.RAISE:
                self._errors[agent] = verdict.as_error()
            yield event

    async def _before_model(self, event: BeforeModelCallEvent) -> None:
        """Judge the round whose results have just come in."""
        agent, messages = event.agent, event.agent.messages
        # The model is asked again after a connection that broke.
        if not _end_in_results(messages) or self._judged.get(agent) is messages[-1]:
            return
        self._judged[agent] = messages[-1]
        if agent in self._endings:  # it called tools instead
            event.cancel = _said_before_results(messages) or self._endings[agent]
            return
        verdict = await self._judge_last_round(agent)
        self.tell(verdict, str(agent.agent_id), self._monitors[agent])
        if verdict.action in (LoopAction.NOTIFY, LoopAction.CONCLUDE):
            messages[-1]["content"].append({"text": self.notice(verdict)})
        if verdict.action is LoopAction.CONCLUDE:
            self._endings[agent] = stopped(verdict)
        elif verdict.action.ends_run:
            event.cancel = stopped(verdict)
        if verdict.action is LoopAction.RAISE:
            self._errors[agent] = verdict.as_error()

    def _before_tool(self, event: BeforeToolCallEvent) -> None:
        """Answer a call that is refused."""
        use = event.tool_use
        # The tool of a structured output gives the last words their form.
        if event.agent in self._endings and use["name"] not in self._ignored:
            event.cancel_tool = WITHDRAWN
            return
        call = ToolCall(use["name"], use["input"], use["toolUseId"])
        monitor = self._monitor_of(event.agent)
        if not self.across_turns and _begins_turn(event.agent.messages):
            # The monitor hears of the turn with its first round; blocks have ended before.
            monitor = copy(monitor)
            monitor.user_message()
        verdict = monitor.before(call)
        if verdict.action is LoopAction.BLOCK:
            event.cancel_tool = verdict.message

    def _after_run(self, event: AfterInvocationEvent) -> None:
        """Raise here: an error from where the model is asked would be wrapped."""
        self._judged.pop(event.agent, None)
        self._endings.pop(event.agent, None)
        error = self._errors.pop(event.agent, None)
        if error is not None:
            raise error

    async def _judge_last_round(self, agent: Any) -> LoopVerdict:
        if agent not in self._monitors:
            verdict = self._begin(agent, may_ask=True)
        else:
            history = self._history(agent)
            self._heed(agent, history, 1)
            verdict = self._show(self._monitors[agent], history, 1, may_ask=True)
        monitor = self._monitors[agent]
        verdict = await self.aasked(monitor, verdict, str(agent.agent_id))
        judged, mark = _ids(agent.messages), self._marks.get(agent)
        saved = {"window": monitor.snapshot(), "judged": judged, "mark": mark}
        agent.state.set(self._key, saved)
        return verdict

    def _heed(self, agent: Any, history: History, rounds: int) -> None:
        """Forget what a conversation manager has taken away, before the last rounds are shown."""
        starts = [start for start, _ in rounds_of(history.calls)]
        new = len(history) - (starts[-rounds] if rounds else len(history))
        held = _calls_in(_without_pending(agent.messages)) - new
        self._marks[agent] = heeded(self._monitors[agent], self._marks.get(agent), held)

    def _monitor_of(self, agent: Any) -> LoopMonitor:
        if agent not in self._monitors:
            self._begin(agent, may_ask=False)
        return self._monitors[agent]

    def _begin(self, agent: Any, *, may_ask: bool) -> LoopVerdict:
        """Take over what is known of an agent, and look at the rounds that came since."""
        monitor, history = self.monitor(str(agent.agent_id)), self._history(agent)
        saved = agent.state.get(self._key)
        since = len(list(history.rounds()))
        try:
            monitor.restore(saved["window"])
            since = _rounds_since(saved["judged"], history)
        except (KeyError, TypeError, SnapshotError):  # nothing is saved, or by another version
            pass
        self._monitors[agent] = monitor
        self._marks[agent] = saved.get("mark") if isinstance(saved, dict) else None
        self._heed(agent, history, since)
        return self._show(monitor, history, since, may_ask=may_ask)

    def _show(
        self, monitor: LoopMonitor, history: History, rounds: int, *, may_ask: bool
    ) -> LoopVerdict:
        """Show a monitor the last rounds of a history."""
        verdict = LoopVerdict()
        replies = [each for each in history.replies() if each.calls]
        for together in replies[len(replies) - rounds :]:
            monitor.recall((), can_ask=may_ask and together is replies[-1])
            verdict = self.record(monitor, together)
        return verdict

    def _history(self, agent: Any) -> History:
        """Return the rounds that have run, without pending calls."""
        return from_strands(_without_pending(self.recent(agent.messages)))


def _rounds_since(judged: List[Any], history: History) -> int:
    """Count the rounds after the one with these ids; only the last where that is taken away."""
    rounds = list(history.rounds())
    for since, together in enumerate(reversed(rounds)):
        if [call.id for call in together.calls] == judged:
            return since
    return min(1, len(rounds))


def _without_pending(messages: Sequence[Any]) -> Sequence[Any]:
    """Leave out calls at the end that have not run."""
    is_pending = bool(_ids(messages)) and not _end_in_results(messages)
    return messages[:-1] if is_pending else messages


def _begins_turn(messages: Sequence[Any]) -> bool:
    """Whether the last reply is the first one since the user spoke."""
    return bool(from_strands(messages[-2:-1]).turn_starts)


def _calls_in(messages: Sequence[Any]) -> int:
    return sum("toolUse" in block for message in messages for block in message["content"])


def _ids(messages: Sequence[Any]) -> List[Any]:
    """Return the ids of the last message's calls, or of the calls whose results it holds."""
    kinds = ("toolUse", "toolResult")
    blocks = [block for message in messages[-1:] for block in message["content"]]
    return [block[kind]["toolUseId"] for block in blocks for kind in kinds if kind in block]


def _said_before_results(messages: Sequence[Any]) -> str:
    """Return the words of the reply whose results have just come in."""
    return "".join(text_of(block.get("text")) for block in messages[-2]["content"])


def _end_in_results(messages: Sequence[Any]) -> bool:
    return any("toolResult" in block for message in messages[-1:] for block in message["content"])
