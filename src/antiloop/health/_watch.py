"""Health of runs that an adapter watches while they go on."""

from dataclasses import replace
from typing import Any, Callable, Optional, Sequence

from .._checks import check_threshold
from .._latest import Latest
from .._process_lock import ProcessLock
from .._short_repr import counted, short_repr
from ..formats import History, rounds_of
from ..formats._internal import AgentSpan
from ..loop_detection._internal import Result
from ..stability import beta
from ..traces import RunEvent
from ..traces._internal import event_of, handoff
from ..types import ToolCall
from ._monitor import HealthMonitor
from ._profile import HealthProfile
from ._report import HealthReport


class _WatchedRun:
    """One run, and how far it was read."""

    def __init__(self, profile: Optional[HealthProfile]) -> None:
        self.monitor = HealthMonitor(profile)
        self.calls = 0
        self.messages = 0
        self.agent: Optional[str] = None


@beta
class HealthWatch:
    """Keep a `HealthMonitor` for each run of an adapter: ``LoopGuard(health=watch)``.

    Args:
        profile: rules and numbers; those that decide from evidence by default.
        runs: how many runs are remembered; those heard of last.

    Raises:
        ValueError: if no run is to be remembered.

    >>> from antiloop import ToolCall
    >>> watch = HealthWatch()
    >>> for _ in range(4):
    ...     watch.add_round("thread-1", [ToolCall("search", {"q": "cats"})], ["no results"])
    >>> watch.report("thread-1").status.value
    'Likely stuck'
    """

    def __init__(self, profile: Optional[HealthProfile] = None, *, runs: int = 1_000) -> None:
        check_threshold("runs", runs, 1)
        self._profile = profile
        self._lock = ProcessLock()
        self._runs: Latest[str, _WatchedRun] = Latest(runs)

    def __repr__(self) -> str:
        return short_repr(self, counted(len(self._runs), "run"))

    def report(self, run_id: str = "") -> HealthReport:
        """Return the report on a run; an unknown run is healthy."""
        with self._lock:
            run = self._runs.get(run_id)
            return (run or _WatchedRun(self._profile)).monitor.report()

    def add_round(self, run_id: str, calls: Sequence[ToolCall], results: Sequence[Result]) -> None:
        """Take the calls of one reply of the model, and what came back."""
        with self._lock:
            run = self._run(run_id)
            run.monitor.add_round(calls, results)
            run.calls += len(calls)

    def user_message(self, run_id: str) -> None:
        """Note that the user spoke."""
        with self._lock:
            run = self._run(run_id)
            run.monitor.add(RunEvent("user_message", run.calls))

    def add_span(self, run_id: str, one: AgentSpan) -> None:
        """Take time, tokens and cost from a span of a model, or of a tool in a reported round."""
        with self._lock:
            run = self._run(run_id)
            is_of_call = one.call is not None
            run.monitor.add(event_of(max(0, run.calls - is_of_call), one))

    def add_agent(self, run_id: str, one: AgentSpan) -> None:
        """Take the span of an agent: where another one was in control, that is a handoff."""
        with self._lock:
            run = self._run(run_id)
            if run.agent is not None and one.agent not in (None, run.agent):
                run.monitor.add(handoff(run.calls, run.agent, one))
            run.agent = one.agent or run.agent

    def follow(
        self, run_id: str, messages: Sequence[Any], read: Callable[[Sequence[Any]], History]
    ) -> None:
        """Take the new part of a conversation.

        If it is shorter than the last time, because messages were removed, its last round is new.

        Args:
            run_id: of which run; an unknown one, as after a restart, is read from its start.
            messages: the conversation after a round, with the results of all its calls.
            read: reads messages in their format.
        """
        with self._lock:
            run = self._run(run_id)
            was_cut = len(messages) < run.messages
            history = read(messages if was_cut else messages[run.messages :])
            run.messages = len(messages)
            bounds = list(rounds_of(history.calls))
            for start, stop in bounds[-1:] if was_cut else bounds:
                if start in history.turn_starts:
                    self.user_message(run_id)
                # Rounds are counted from 0 in each part of a conversation.
                calls = [replace(call, round=run.calls) for call in history.calls[start:stop]]
                self.add_round(run_id, calls, history.results[start:stop])
            if len(history) in history.turn_starts:
                self.user_message(run_id)

    def _run(self, run_id: str) -> _WatchedRun:
        run = self._runs.get(run_id) or _WatchedRun(self._profile)
        self._runs[run_id] = run
        return run
