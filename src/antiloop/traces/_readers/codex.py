"""Codex CLI sessions: rollout files, one JSON object a line."""

from typing import Any, Dict, List, Optional, Tuple

from ...formats._internal import (
    RolloutBuilder,
    field_of,
    item_of,
    keep_latest,
    openai_responses,
    optional_text,
    seconds_of,
    text_of,
    time_of,
)
from .._recorded_run import RecordedRun, RunEvent
from .._shared.sessions import SessionFormat
from .._shared.usage import ReplyUsage, reply_event, usage_of

_TOKENS = ("input_tokens",), ("output_tokens",)
_TYPES = ("session_meta", "response_item", "turn_context", "event_msg", "compacted")


def recognizes(value: Any) -> bool:
    """Whether a JSON value is a line of a rollout file, or the first line of an older one."""
    if not isinstance(value, dict):
        return False
    return _session_of(value) is not None or (
        value.get("type") in _TYPES and isinstance(value.get("payload"), dict)
    )


def _session_of(line: Dict[str, Any]) -> Optional[Dict[str, Any]]:
    """Return what a line says of the session that begins there."""
    payload = line.get("payload")
    if line.get("type") == "session_meta" and isinstance(payload, dict):
        return payload
    is_older = "type" not in line and "instructions" in line and isinstance(line.get("id"), str)
    return line if is_older else None


def _may_begin(line: Dict[str, Any]) -> bool:
    """Whether a recording that was cut may begin with a line; older ones hold the items alone."""
    return (
        recognizes(line)
        or openai_responses.is_call(line)
        or openai_responses.is_result(line)
        or line.get("type") == "message"
    )


class _Rollout(RolloutBuilder):
    """One session, as far as it has been read."""

    is_over = False  # a session can be resumed at any time

    def __init__(self, source: str, first: Dict[str, Any]) -> None:
        super().__init__()
        session = _session_of(first) or {}
        self.run_id = optional_text(session.get("id")) or source
        self.source = source
        self._family = {optional_text(session.get("id")) or ""}
        self._usage = ReplyUsage()
        self._events: List[RunEvent] = []
        self._begun: Dict[str, Tuple[int, str, Optional[float]]] = {}
        self._counted = 0
        self._model: Optional[str] = None

    def is_left_by(self, line: Dict[str, Any]) -> bool:
        """Whether a line begins a session other than this one and those it was forked from."""
        session = _session_of(line)
        return session is not None and optional_text(session.get("id")) not in self._family

    def take(self, line: Dict[str, Any]) -> None:
        session = _session_of(line)
        if session is not None:  # a fork repeats the beginning of its origin, a fork itself maybe
            self._family.add(optional_text(session.get("forked_from_id")) or "")
        self._note_time(item_of(line), time_of(line))
        self.add_line(line)
        payload = line.get("payload")
        if line.get("type") == "turn_context":
            self._model = self._model or optional_text(field_of(payload, "model"))
        amounts = field_of(field_of(payload, "info"), "total_token_usage")
        if amounts is not None:
            self._count(usage_of(self._model, amounts, *_TOKENS), line)

    def _note_time(self, item: Any, at: Optional[float]) -> None:
        """Note when a call began, or how long it took."""
        call_id = text_of(field_of(item, "call_id"))
        if openai_responses.is_call(item):
            self._begun[call_id] = len(self), openai_responses.tool_of(item), at
        elif openai_responses.is_result(item) and call_id in self._begun:
            (step, tool, began), took = self._begun.pop(call_id), seconds_of(item)
            if took is not None:
                took_ms = took * 1000
                self._events.append(
                    RunEvent("tool_call_completed", step, tool, time_s=began, latency_ms=took_ms)
                )

    def _count(self, so_far: ReplyUsage, line: Dict[str, Any]) -> None:
        """Take the sum so far, which is reported after each reply, sometimes repeatedly."""
        took = so_far.beyond(self._usage)
        if took.input_tokens or took.output_tokens:
            at = time_of(line)
            self._events.append(reply_event(self._counted, took, time_s=at))
        self._usage, self._counted = so_far, len(self)

    def forget(self, before: int, heard: int = 0) -> int:
        """Remove calls before a step, now or later, and all events."""
        self._events.clear()
        keep_latest(self._begun)
        return super().forget(before, heard)

    def recorded(self) -> RecordedRun:
        history = self.build()
        return RecordedRun(
            self.run_id,
            source=self.source,
            events=tuple(self._events),
            model=self._model,
            input_tokens=self._usage.input_tokens,
            output_tokens=self._usage.output_tokens,
            client=self.client,
            **vars(history),
        )


_FORMAT = SessionFormat(_Rollout, _may_begin)
read, follow = _FORMAT.read, _FORMAT.follow
