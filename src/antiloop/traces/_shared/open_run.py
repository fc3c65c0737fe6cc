"""A run while its events are still coming in."""

from dataclasses import replace
from typing import Any, Dict, List, Mapping, Optional, Set, Tuple

from ..._amounts import moment_s, number, total, whole_number
from ..._latest import Latest
from ...formats import TextMessage
from ...formats._internal import (
    GrowingHistory,
    arguments_of,
    field_of,
    keep_latest,
    made_unique,
    optional_text,
    text_of,
)
from ...loop_detection import Opinion
from ...loop_detection._internal import call_fingerprint, recorded_opinion
from ...types import Role, ToolCall, ToolResult
from .._recorded_run import RecordedRun, RunEvent
from .usage import total_usage

_WAITING = 100
"""The calls that may lack a result at one time before the oldest ones are given up."""
_WORDS = {"user_message": (Role.USER, "input"), "llm_call_completed": (Role.ASSISTANT, "output")}
"""The speaker in an event, and the field that holds the text."""
_COMPLETED = ("tool_call_completed", "tool_call_failed")
_BEGINS_ROUND = frozenset(
    """
    handoff_completed handoff_started llm_call_completed llm_call_started memory_write
    retry_triggered second_opinion state_updated user_message
    """.split()
)
_NOTHING: Mapping[str, Any] = {}


class OpenRun(GrowingHistory):
    """Collects the events of one run in the order in which they were written.

    A result belongs to the call with its ``call_id``, or else to the oldest open call of its tool,
    or of any tool where it names none. Calls are one round if they say so by an equal ``round``, or
    if an agent starts them before the first of them is completed, and nothing lies between that
    begins a round: a reply of the model, a change of state, words of the user. If no reply is
    recorded, a repeated call begins one, too.
    """

    def __init__(self, run_id: str, source: str) -> None:
        super().__init__()
        self.run_id = run_id
        self.source = source
        self.is_over = False
        self._opinions: List[Tuple[int, Opinion]] = []
        self._events: List[RunEvent] = []
        self._waiting: Latest[int, Tuple[ToolCall, Mapping[str, Any]]] = Latest(_WAITING)
        self._agent: Optional[str] = None
        self._rounds: Dict[str, int] = {}
        self._named_rounds = 0
        self._open_round: Optional[Tuple[int, Optional[str]]] = None
        self._calls_of_round: Set[str] = set()
        self._tells_replies = False
        self._failed = False

    def take(self, event: Mapping[str, Any]) -> None:
        step = len(self)
        self._agent = self._agent or optional_text(event.get("agent"))
        if event["type"] == "tool_call_started":
            self._start(_call(event), event, event)
            return
        if event["type"] in _COMPLETED:
            self._events.append(self._complete(event))
            return
        self._end_round(event)
        self._note_words(event, step)
        if event["type"] == "user_message":
            self.turn_starts.append(step)
        elif event["type"] == "run_failed":
            self._failed = True
        elif event["type"] == "second_opinion":
            self._note_opinion(event)
        self._events.append(_event(event, step))

    def forget(self, before: int, heard: int = 0) -> int:
        """Remove what came before a step, now or later; the run can only go on then."""
        self._events.clear()
        self._opinions.clear()
        keep_latest(self._rounds)
        return super().forget(before, heard)

    def close(self) -> RecordedRun:
        """Return the run as far as it is known."""
        events = self._events
        return RecordedRun(
            self.run_id,
            source=self.source,
            events=tuple(events),
            agent=self._agent,
            cost=total(event.cost for event in events),
            opinions=tuple(self._opinions),
            failed=self._failed,
            **vars(self.build()),
            **vars(total_usage(events)),
        )

    def _note_opinion(self, event: Mapping[str, Any]) -> None:
        """Take in what a judge said, about the last call where no step is named."""
        opinion, step = recorded_opinion(event), whole_number(event.get("step"))
        if opinion is not None:
            self._opinions.append((len(self) - 1 if step is None else step, opinion))

    def _note_words(self, event: Mapping[str, Any], step: int) -> None:
        """Take in what the user or the model said, where it was recorded as text."""
        role, field = _WORDS.get(event["type"], (Role.SYSTEM, ""))
        text = event.get(field)
        if isinstance(text, str) and text:
            self.messages.append(TextMessage(role, text, step))

    def _start(self, call: ToolCall, event: Mapping[str, Any], begun: Mapping[str, Any]) -> int:
        index = len(self)
        call = made_unique(call, index)
        call = replace(call, round=self._round_of(call, event))
        self.add(call)
        self._waiting[index] = call, begun
        return index

    def _end_round(self, event: Mapping[str, Any]) -> None:
        """Make the next call begin a round, if this event lies between two replies of its agent."""
        self._tells_replies = self._tells_replies or event["type"].startswith("llm_call_")
        if event["type"] not in _BEGINS_ROUND or self._open_round is None:
            return
        agents = (optional_text(event.get("agent")), self._open_round[1])
        if None in agents or agents[0] == agents[1]:
            self._open_round = None

    def _round_of(self, call: ToolCall, event: Mapping[str, Any]) -> int:
        if event.get("round") is not None:
            # Negative, so that they never equal the numbers of the others, which are indices.
            name = text_of(event["round"])
            self._named_rounds += name not in self._rounds
            return self._rounds.setdefault(name, -self._named_rounds)
        agent = optional_text(event.get("agent"))
        key = call_fingerprint(call.tool_name, call.arguments)
        is_again = key in self._calls_of_round and not self._tells_replies
        if self._open_round is None or self._open_round[1] != agent or is_again:
            self._open_round = len(self), agent
            self._calls_of_round.clear()
        self._calls_of_round.add(key)
        return self._open_round[0]

    def _complete(self, event: Mapping[str, Any]) -> RunEvent:
        completed = _call(event)
        found = (index for index, (call, _) in self._waiting.items() if _is_of(completed, call))
        index = next(found, None)
        if index is None:
            index = self._start(completed, event, _NOTHING)
        call, begun = self._waiting.pop(index)
        done, result = _event(event, index, begun), _result(event)
        self.set_result(index, result and replace(result, duration_s=done.latency_s))
        if self._open_round and self._open_round[0] == call.round:
            self._open_round = None
        return done


def _call(event: Mapping[str, Any]) -> ToolCall:
    call_id = optional_text(event.get("call_id"))
    begun = moment_s(event.get("timestamp")) if event["type"] == "tool_call_started" else None
    tool, given = text_of(event.get("tool")), arguments_of(event.get("input"))
    return ToolCall(tool, given, call_id, started_at=begun)


def _is_of(completed: ToolCall, call: ToolCall) -> bool:
    """Whether a completed call matches an open one."""
    if call.id or completed.id:
        return call.id == completed.id
    return completed.tool_name in ("", call.tool_name) and completed.arguments in (
        None,
        call.arguments,
    )


def _result(event: Mapping[str, Any]) -> Optional[ToolResult]:
    error = event.get("error")
    failed = bool(error) or event.get("is_error") is True or event["type"] == "tool_call_failed"
    output = event.get("output")
    if output is None and not failed:
        return ToolResult("") if "output" in event else None
    return ToolResult(text_of(error if output is None else output), failed)


def _event(event: Mapping[str, Any], step: int, begun: Mapping[str, Any] = _NOTHING) -> RunEvent:
    """Read an event; of a call, with what only its start tells."""
    time_s, begun_s = (moment_s(one.get("timestamp")) for one in (event, begun))
    if begun:
        event = {**begun, **{name: value for name, value in event.items() if value is not None}}
    given, written, both = _tokens(event)
    error, latency_ms = event.get("error"), number(event.get("latency_ms"))
    if latency_ms is None and time_s is not None and begun_s is not None:
        latency_ms = max(0.0, time_s - begun_s) * 1000
    is_call = event["type"] in _COMPLETED
    return RunEvent(
        event["type"],
        step,
        tool=optional_text(event.get("tool")),
        agent=optional_text(event.get("agent")),
        to_agent=optional_text(event.get("to_agent")),
        model=optional_text(event.get("model")),
        time_s=time_s if begun_s is None else begun_s,
        latency_ms=latency_ms,
        cost=number(event.get("cost")),
        input_tokens=given,
        output_tokens=written,
        tokens=both,
        error=None if error in (None, False) else text_of(error),
        input=None if is_call else event.get("input"),
        output=None if is_call else event.get("output"),
        cached_tokens=whole_number(field_of(event.get("tokens"), "cached")),
    )


def _tokens(event: Mapping[str, Any]) -> Tuple[Optional[int], Optional[int], Optional[int]]:
    """Read ``tokens``, a number or an object with ``input`` and ``output``."""
    tokens = event.get("tokens")
    given = whole_number(field_of(tokens, "input"))
    written = whole_number(field_of(tokens, "output"))
    return (
        given,
        written,
        total([given, written]) if isinstance(tokens, dict) else whole_number(tokens),
    )
