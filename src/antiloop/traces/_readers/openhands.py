"""OpenHands' conversations: a JSON array of events, an object that holds one, or an event a line.

Single events, as lines, are together one run. A run is held in memory.
"""

from itertools import chain
from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple

from ..._amounts import number
from ...formats._internal import field_of, mapping_of, openhands, optional_text, text_of, time_of
from .._recorded_run import RecordedRun, RunEvent
from .._shared.records import OnTrouble, Record
from .._shared.run_under_way import RunUnderWay, TakeRecord, WholeRun
from .._shared.usage import chat_usage, reply_event, total_usage

_HOLDERS = ("history", "events", "trajectory")


def recognizes(value: Any) -> bool:
    """Whether a JSON value is a conversation, or one event of it."""
    return _is_event(value) or bool(_events(value))


def read(found: Iterable[Record], name: str, on_trouble: OnTrouble) -> Iterator[RecordedRun]:
    """Yield one run for each list of events, and one for all single events."""
    alone: List[Any] = []
    place = name
    for record in found:
        events = _events(record.value)
        if events:
            yield _run(record.value, events, record.place(name))
        elif _is_event(record.value):
            place = place if alone else record.place(name)
            alone.append(record.value)
        else:
            on_trouble(record.line, "")
    if alone:
        yield _run({}, alone, place)


def follow(name: str, on_trouble: OnTrouble) -> TakeRecord:
    """Read single events while they are written, and lists of them as whole runs."""
    alone = _EventsAlone(name)

    def take(record: Record) -> Iterable[RunUnderWay]:
        if _is_event(record.value) and not _events(record.value):
            alone.take(record)
            return [alone]
        return map(WholeRun, read([record], name, on_trouble))

    return take


class _EventsAlone(openhands.EventsBuilder):
    """The run of the single events of a file."""

    is_over = False  # a conversation can be resumed at any time

    def __init__(self, name: str) -> None:
        super().__init__()
        self.run_id = self.source = ""
        self._name = name

    def take(self, record: Record) -> None:
        self.run_id = self.source = self.source or record.place(self._name)
        self.add_event(record.value)


def _events(value: Any) -> List[Any]:
    held = [value.get(key) for key in _HOLDERS] if isinstance(value, dict) else [value]
    lists = [events for events in held if isinstance(events, list)]
    if isinstance(value, dict):
        lists = list(map(_without_pairs, lists))
    return next((events for events in lists if any(map(_is_event, events))), [])


def _without_pairs(events: List[Any]) -> List[Any]:
    """Open the pairs of action and observation that older evaluations wrote."""
    pairs = (event if isinstance(event, list) else [event] for event in events)
    return list(chain.from_iterable(pairs))


def _is_event(event: Any) -> bool:
    if not isinstance(event, dict) or not isinstance(event.get("source"), str):
        return False
    if openhands.is_of_sdk(event):
        return event["kind"].endswith("Event") and "timestamp" in event
    return isinstance(event.get("action"), str) or isinstance(event.get("observation"), str)


def _run(value: Any, events: List[Any], source: str) -> RecordedRun:
    conversation = openhands.EventsBuilder()
    beside = tuple(_Walk(conversation).events_of(events))
    history = conversation.build()
    holder = mapping_of(value)
    ids = (optional_text(holder.get(key)) for key in ("instance_id", "conversation_id", "id"))
    return RecordedRun(
        next(filter(None, ids), source),
        source=source,
        events=beside,
        cost=_cost([holder, *events]),
        failed=bool(holder.get("error")) or any(map(_is_end_in_error, events[-1:])),
        client=conversation.client,
        **vars(history),
        **vars(total_usage(beside)),
    )


def _cost(holders: List[Any]) -> Optional[float]:
    """Return the last sum that was noted; it is a running one."""
    places = ((holder, name) for holder in holders for name in ("metrics", "llm_metrics"))
    sums = [number(field_of(field_of(one, name), "accumulated_cost")) for one, name in places]
    return next((known for known in reversed(sums) if known is not None), None)


def _is_end_in_error(event: Any) -> bool:
    if field_of(event, "kind") == "ConversationErrorEvent":
        return True
    return bool(field_of(field_of(event, "extras"), "agent_state") == "error")


class _Walk:
    """Goes through the events of a conversation once, and says what happened beside the calls."""

    def __init__(self, conversation: openhands.EventsBuilder) -> None:
        self._conversation = conversation
        self._begun: Dict[str, Tuple[int, Any]] = {}
        self._reply: Optional[str] = None

    def events_of(self, events: List[Any]) -> Iterator[RunEvent]:
        """Yield replies of the model, handoffs, and how long tools took."""
        for event in events:
            if openhands.is_call(event):
                step = len(self._conversation)
                yield from self._before_call(event, step)
                self._begun[text_of(field_of(event, "id"))] = step, event
            elif openhands.is_result(event):
                yield from self._after_call(event)
            self._conversation.add_event(event)

    def _before_call(self, event: Any, step: int) -> Iterator[RunEvent]:
        reply = openhands.reply_of(event)
        if reply is not None and reply != self._reply:
            yield _reply_event(event, step)
        self._reply = reply
        if field_of(event, "action") == "delegate":
            to_agent = optional_text(field_of(field_of(event, "args"), "agent"))
            yield RunEvent("handoff_started", step, to_agent=to_agent)

    def _after_call(self, event: Any) -> Iterator[RunEvent]:
        step, call = self._begun.pop(text_of(openhands.cause_of(event)), (0, None))
        if call is None:
            return
        start, end = (time_of(one) for one in (call, event))
        took = None if start is None or end is None else max(0.0, end - start) * 1000
        yield RunEvent(
            "tool_call_completed", step, openhands.tool_of(call), time_s=start, latency_ms=took
        )


def _reply_event(event: Any, step: int) -> RunEvent:
    response = field_of(field_of(event, "tool_call_metadata"), "model_response")
    return reply_event(step, chat_usage(response), time_s=time_of(event))
