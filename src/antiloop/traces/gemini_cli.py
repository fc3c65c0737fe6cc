"""Gemini CLI sessions: one document each, or one record a line."""

from typing import Any, Dict, Iterable, Iterator, List, Optional

from ..formats import from_gemini_session
from ..formats.content import field_of, optional_text, text_of
from .recorded_run import RecordedRun
from .records import OnTrouble, Record
from .usage import Usage, total_usage, usage_of


def recognises(value: Any) -> bool:
    """Whether a JSON value is a session, or the line that one begins with."""
    return isinstance(value, dict) and "projectHash" in value and "sessionId" in value


def read(found: Iterable[Record], name: str, on_trouble: OnTrouble) -> Iterator[RecordedRun]:
    """Yield one run for each session."""
    session: Optional[_Session] = None
    for record in found:
        value = record.value
        if not isinstance(value, dict):
            on_trouble(record.line, "no record of a Gemini CLI session")
            continue
        if session is None or session.is_over(value):
            if session is not None:
                yield session.recorded()
            session = _Session(record.place(name), value)
        session.add(value)
    if session is not None:
        yield session.recorded()


class _Session:
    """The messages of one session; a message that is written again replaces itself."""

    def __init__(self, source: str, first: Dict[str, Any]) -> None:
        self._source = source
        self._id = optional_text(first.get("sessionId"))
        self._messages: Dict[str, Any] = {}

    def is_over(self, value: Dict[str, Any]) -> bool:
        """Whether another session begins with a value."""
        return recognises(value) and optional_text(value["sessionId"]) != self._id

    def add(self, value: Dict[str, Any]) -> None:
        """Take the messages of a record; what was taken back has happened all the same."""
        for message in (value, *_messages_in(value), *_messages_in(value.get("$set"))):
            if isinstance(field_of(message, "type"), str):
                own = text_of(field_of(message, "id")) or f"#{len(self._messages)}"
                self._messages[own] = message

    def recorded(self) -> RecordedRun:
        messages = list(self._messages.values())
        told = from_gemini_session(messages)
        return RecordedRun(
            self._id or self._source,
            told.calls,
            told.results,
            told.turn_starts,
            self._source,
            **vars(total_usage(map(_usage, messages))),
        )


def _messages_in(holder: Any) -> List[Any]:
    messages = field_of(holder, "messages")
    return messages if isinstance(messages, list) else []


def _usage(message: Any) -> Usage:
    amounts = field_of(message, "tokens")
    return usage_of(field_of(message, "model"), amounts, ("input",), ("output", "thoughts"))
