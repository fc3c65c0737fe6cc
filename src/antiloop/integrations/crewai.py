"""CrewAI crews, through hooks that hold for one block of code."""

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Iterable, Iterator, List, Optional, Tuple

from ._needed import needed

with needed("crewai 1.15.19 or later", "crewai", __name__):
    from crewai.hooks.dispatch import HookAborted, InterceptionPoint, get_scoped_hooks, scoped_hooks

from .._frozen import frozen
from .._latest import Latest
from .._process_lock import ProcessLock
from ..exceptions import LoopDetectedError
from ..formats._internal import text_of
from ..loop_detection import LoopAction, LoopMonitor, LoopVerdict
from ..stability import beta, stable
from ..types import ToolCall, ToolResult
from ._guard import heeded
from ._lookout import Lookout

__all__ = ["LoopAborted", "LoopGuard"]

_KEPT_RUNS = 1_000


@beta
class LoopAborted(LoopDetectedError, HookAborted):
    """The error that ends a crew's run: CrewAI swallows all others that a hook raises."""


@stable
class LoopGuard(Lookout):
    """Guards the crews that run in ``with guard.watch():``; see `Lookout` for its arguments.

    Each round of an agent's task is judged before the next model call: the model gets a notice, or
    `LoopAborted` reaches the caller of ``kickoff``. Refused calls get the words of the refusal as
    their result. Messages that CrewAI replaces by a summary do not count as known. Other crews of
    the process are not seen. One guard may watch several blocks, also at the same time.
    """

    can_ask = True

    @contextmanager
    def watch(self) -> "Iterator[LoopGuard]":
        """Watch what runs in this block, and in the tasks and threads that it begins."""
        block = _WatchedBlock(self)
        ours = {
            InterceptionPoint.PRE_MODEL_CALL: block.before_model,
            InterceptionPoint.PRE_TOOL_CALL: block.before_tool,
            InterceptionPoint.POST_TOOL_CALL: block.after_tool,
        }
        theirs = {point: get_scoped_hooks(point) for point in InterceptionPoint}
        hooks = {point: [*theirs[point], *filter(None, [ours.get(point)])] for point in theirs}
        with scoped_hooks(hooks):
            yield self


@dataclass
class _TaskRun:
    """The run of one agent at one task."""

    owners: Tuple[Any, Any]
    """The agent and the task, held so that nothing else gets their ids."""
    monitor: LoopMonitor
    lock: Any = field(default_factory=ProcessLock)
    together: List[Tuple[ToolCall, ToolResult]] = field(default_factory=list)
    """The calls since the last reply of the model."""
    mark: int = 0
    """The number of calls made when the model last forgot something."""

    def refusal(self, call: ToolCall) -> Optional[str]:
        with self.lock:
            verdict = self.monitor.before(call)
        return verdict.message if verdict.action is LoopAction.BLOCK else None

    def note(self, call: ToolCall, result: ToolResult) -> None:
        with self.lock:
            self.together.append((call, result))

    def judged(self, held: int) -> LoopVerdict:
        """Judge the calls since the last reply, as one round of those that a request holds."""
        with self.lock:
            self.mark = heeded(self.monitor, self.mark, held - len(self.together))
            calls, results = zip(*self.together)
            verdict = self.monitor.after(calls, results)
            # Not before: a round that was interrupted is judged with the next one.
            self.together.clear()
            return verdict


class _WatchedBlock:
    """The hooks of one block, and the runs in it."""

    def __init__(self, guard: LoopGuard) -> None:
        self._guard = guard
        self._runs: Latest[Tuple[int, int], _TaskRun] = Latest(_KEPT_RUNS)

    def before_tool(self, context: Any) -> Optional[bool]:
        """Refuse a call; CrewAI takes ``False`` for that."""
        return False if self._run(context).refusal(_call(context)) else None

    def after_tool(self, context: Any) -> Optional[str]:
        """Note what a call gave; put the words of a refusal in the place of CrewAI's."""
        run, call = self._run(context), _call(context)
        refusal = run.refusal(call)
        run.note(call, ToolResult(refusal or _given(context), bool(refusal)))
        return refusal

    def before_model(self, context: Any) -> None:
        """Judge the round whose results have just come in."""
        if context.executor is None:  # a model that is asked beside the agents' work
            return
        if context.iterations == 0:
            self._runs.pop(_key(context), None)
        run = self._run(context)
        if run.together:
            run_id = _run_id(context)
            found = run.judged(_calls_in(context.messages))
            verdict = self._guard.asked(run.monitor, found, run_id)
            self._guard.tell(verdict, run_id, run.monitor)
            self._carry_out(verdict, context.messages)

    def _carry_out(self, verdict: LoopVerdict, messages: List[Any]) -> None:
        if verdict.action is LoopAction.NOTIFY:
            messages.append({"role": "user", "content": self._guard.notice(verdict)})
        if verdict.action.ends_run:
            found = verdict.as_error()
            error = LoopAborted(found.message, found.detector, found.details)
            error.detection, error.source = found.detection, "antiloop"
            raise error

    def _run(self, context: Any) -> _TaskRun:
        key = _key(context)
        if key not in self._runs:
            owners = (context.agent, context.task)
            self._runs[key] = _TaskRun(owners, self._guard.monitor(_run_id(context)))
            asked = text_of(getattr(context.task, "description", None))
            self._runs[key].monitor.user_message(asked or None)
        return self._runs[key]


def _key(context: Any) -> Tuple[int, int]:
    return id(context.agent), id(context.task)


def _run_id(context: Any) -> str:
    return str(getattr(context.crew, "id", ""))


def _calls_in(messages: Iterable[Any]) -> int:
    """Count the calls of a conversation; a reply in words counts as one that it may ask for."""
    replies = (each for each in messages if each.get("role") == "assistant")
    return sum(len(reply.get("tool_calls") or [reply]) for reply in replies)


def _given(context: Any) -> str:
    """Return a result without the reminders that CrewAI adds to some of them."""
    raw = context.raw_tool_result
    return text_of(context.tool_result if raw is None else raw)


def _call(context: Any) -> ToolCall:
    """Return a call as it is now; a tool may change its arguments."""
    return ToolCall(context.tool_name, frozen(context.tool_input))
