"""One run of an agent, from spans in the order of their ends."""

from dataclasses import replace
from typing import List, Mapping, Optional, Protocol, Sequence, Set, Tuple

from .._latest import Latest
from ..formats._internal import AgentSpan, SpanRounds, completed, like_no_other
from ..loop_detection import LoopAction, LoopMonitor, LoopVerdict
from ..types import ToolCall, ToolResult

_TRACES_REMEMBERED = 100
_VERDICTS_REMEMBERED = 100


class SpanWatch(Protocol):
    """Takes rounds, and what spans know beside them: of a tool, after its call, or of a model."""

    def add_round(
        self, run_id: str, calls: Sequence[ToolCall], results: Sequence[Optional[ToolResult]]
    ) -> None: ...
    def user_message(self, run_id: str) -> None: ...
    def add_span(self, run_id: str, one: AgentSpan) -> None: ...
    def add_agent(self, run_id: str, one: AgentSpan) -> None: ...


class SpanRun:
    """Judge the calls of one run; a loop is reported once in a turn for each action."""

    def __init__(
        self, monitor: LoopMonitor, run_id: str = "", health: Optional[SpanWatch] = None
    ) -> None:
        self.without_arguments: Set[str] = set()
        """Tools whose spans do not say what was asked."""
        self._monitor = monitor
        self._run_id = run_id
        self._health = health
        self._rounds = SpanRounds()
        self._traces: Latest[str, None] = Latest(_TRACES_REMEMBERED)
        self._records_arguments = False
        self._waiting: List[Tuple[ToolCall, AgentSpan]] = []
        self._reported: Latest[Tuple[str, LoopAction], None] = Latest(_VERDICTS_REMEMBERED)

    def take(self, one: AgentSpan) -> List[LoopVerdict]:
        """Record the span of a tool, a model or an agent; return what is new to say."""
        self._note_trace(one)
        round_, _, asked = self._rounds.place(one)
        if one.call is None:
            verdicts = self._settle(dict(one.answers))
            if one.user_spoke:
                self._start_turn()
            if one.kind == "model" and self._health is not None:
                self._health.add_span(self._run_id, one)
        else:
            is_next = any(call.round != round_ for call, _ in self._waiting)
            verdicts = self._settle({}) if is_next else []
            call = replace(self._completed(one, one.call, asked), round=round_)
            if one.result is None:
                self._waiting.append((call, one))
            else:
                verdicts.append(self._record(call, one, one.result))
        return list(filter(self._is_first_report, verdicts))

    def _note_trace(self, one: AgentSpan) -> None:
        """Take a further trace of a conversation as a new turn, unless its messages are there."""
        if one.span.trace_id not in self._traces:
            if self._traces and one.user_spoke is None:
                self._start_turn()
            self._traces[one.span.trace_id] = None

    def _settle(self, answers: Mapping[str, ToolResult]) -> List[LoopVerdict]:
        """Record the calls whose results the next request to the model may contain."""
        waiting, self._waiting = self._waiting, []
        return [self._record(call, one, answers.get(call.id or "")) for call, one in waiting]

    def _record(self, call: ToolCall, one: AgentSpan, result: Optional[ToolResult]) -> LoopVerdict:
        if self._health is not None:
            self._health.add_round(self._run_id, [call], [result])
            self._health.add_span(self._run_id, one)
        return self._monitor.after([call], [result]).decision

    def _start_turn(self) -> None:
        self._monitor.user_message()
        self._reported.clear()
        if self._health is not None:
            self._health.user_message(self._run_id)

    def _completed(self, one: AgentSpan, call: ToolCall, asked: Optional[ToolCall]) -> ToolCall:
        self._records_arguments = self._records_arguments or one.knows_arguments
        found = completed(one, call, asked, self._records_arguments)
        if found is None:
            self.without_arguments.add(call.tool_name)
        return found or like_no_other(one, call)

    def _is_first_report(self, verdict: LoopVerdict) -> bool:
        if verdict.detection is None or verdict.action is LoopAction.CONTINUE:
            return False
        key = verdict.detection.identity, verdict.action
        is_first = key not in self._reported
        self._reported[key] = None
        return is_first
