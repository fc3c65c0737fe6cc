"""One run of an agent, told by spans in the order in which they end."""

from dataclasses import replace
from typing import List, Mapping, Optional, Set, Tuple

from ..formats.agent_span import AgentSpan
from ..formats.otlp import completed, like_no_other
from ..formats.span_rounds import SpanRounds
from ..loop_detection import LoopAction, LoopMonitor, LoopVerdict
from ..loop_detection.latest import Latest
from ..types import ToolCall, ToolResult

_TRACES_REMEMBERED = 100
_VERDICTS_REMEMBERED = 100


class SpanRun:
    """Judge the calls of one run; a loop is told once for each action that it is worth.

    Args:
        monitor: of this run.
    """

    def __init__(self, monitor: LoopMonitor) -> None:
        self.without_arguments: Set[str] = set()
        """Tools whose spans do not say what was asked."""
        self._monitor = monitor
        self._rounds = SpanRounds()
        self._traces: Latest[str, None] = Latest(_TRACES_REMEMBERED)
        self._records_arguments = False
        self._waiting: List[ToolCall] = []
        self._told: Latest[Tuple[str, LoopAction], None] = Latest(_VERDICTS_REMEMBERED)

    def take(self, one: AgentSpan) -> List[LoopVerdict]:
        """Record the span of a tool, a model or an agent; give what is new to say."""
        self._note_trace(one)
        round_, _, asked = self._rounds.place(one)
        if one.call is None:
            verdicts = self._settle(dict(one.answers))
            if one.user_spoke:
                self._monitor.user_message()
        else:
            is_next = any(call.round != round_ for call in self._waiting)
            verdicts = self._settle({}) if is_next else []
            call = replace(self._completed(one, one.call, asked), round=round_)
            if one.result is None:
                self._waiting.append(call)
            else:
                verdicts.append(self._monitor.after([call], [one.result]))
        return list(filter(self._is_news, verdicts))

    def _note_trace(self, one: AgentSpan) -> None:
        """Take a further trace of a conversation as a new turn, unless its messages are there."""
        if one.span.trace_id not in self._traces:
            if self._traces and one.user_spoke is None:
                self._monitor.user_message()
            self._traces[one.span.trace_id] = None

    def _settle(self, answers: Mapping[str, ToolResult]) -> List[LoopVerdict]:
        """Record the calls whose results may be told by the next request to the model."""
        waiting, self._waiting = self._waiting, []
        return [self._monitor.after([call], [answers.get(call.id or "")]) for call in waiting]

    def _completed(self, one: AgentSpan, call: ToolCall, asked: Optional[ToolCall]) -> ToolCall:
        self._records_arguments = self._records_arguments or one.knows_arguments
        found = completed(one, call, asked, self._records_arguments)
        if found is None:
            self.without_arguments.add(call.tool_name)
        return found or like_no_other(one, call)

    def _is_news(self, verdict: LoopVerdict) -> bool:
        if verdict.detection is None or verdict.action is LoopAction.CONTINUE:
            return False
        key = verdict.detection.identity, verdict.action
        is_news = key not in self._told
        self._told[key] = None
        return is_news
