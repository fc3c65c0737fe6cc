"""Gemini CLI sessions: one document each, or one record a line."""

from typing import Any, Dict, Iterator, List

from ...formats import History, from_gemini_session
from ...formats._internal import SessionBuilder, field_of, items_of, optional_text, text_of, time_of
from .._recorded_run import RecordedRun, RunEvent
from .._shared.sessions import SessionFormat
from .._shared.usage import ReplyUsage, reply_event, total_usage, usage_of

_MESSAGES = ("user", "gemini", "info", "warning", "error")


def recognizes(value: Any) -> bool:
    """Whether a JSON value is a session, or the line that one begins with."""
    return isinstance(value, dict) and "projectHash" in value and "sessionId" in value


def _may_begin(value: Dict[str, Any]) -> bool:
    """Whether a recording that was cut may begin with a record."""
    is_message = value.get("type") in _MESSAGES or bool(_messages_in(value))
    return is_message or recognizes(value) or "$set" in value


class _Session:
    """The messages of one session; a message that is written again replaces itself."""

    is_over = False  # a session can be resumed at any time
    client = "gemini-cli"

    def __init__(self, source: str, first: Dict[str, Any]) -> None:
        self.source = source
        self._id = optional_text(first.get("sessionId"))
        self.run_id = self._id or source
        self._messages: Dict[str, Any] = {}
        self._session = SessionBuilder()
        self._untold: Dict[str, Any] = {}

    def is_left_by(self, value: Dict[str, Any]) -> bool:
        """Whether another session begins with a value."""
        return recognizes(value) and optional_text(value["sessionId"]) != self._id

    def take(self, value: Dict[str, Any]) -> None:
        """Take the messages of a record; what was taken back has happened all the same."""
        for message in (value, *_messages_in(value), *_messages_in(value.get("$set"))):
            if isinstance(field_of(message, "type"), str):
                own = text_of(field_of(message, "id")) or f"#{len(self._messages)}"
                # A session that is resumed is written again without its calls.
                if not _calls_in(self._messages.get(own)) or _calls_in(message):
                    self._messages[own] = message
                self._untold[own] = message

    def build(self, since: int) -> History:
        """Return what is known by now, without the first ``since`` calls."""
        for own, message in self._untold.items():
            self._session.add_message(message, own)
        self._untold.clear()
        return self._session.build(since)

    def forget(self, before: int, heard: int = 0) -> None:
        """Remove what came before a step; ids stay, as a session may be written again."""
        self._session.forget(before, heard)
        self._messages = dict.fromkeys(self._messages)

    def recorded(self) -> RecordedRun:
        messages = list(self._messages.values())
        history = from_gemini_session(messages)
        usages = list(map(_usage, messages))
        return RecordedRun(
            self.run_id,
            source=self.source,
            events=tuple(_replies(messages, usages)),
            client=self.client,
            **vars(history),
            **vars(total_usage(usages)),
        )


def _messages_in(holder: Any) -> List[Any]:
    return items_of(field_of(holder, "messages"))


def _calls_in(message: Any) -> List[Any]:
    return items_of(field_of(message, "toolCalls"))


def _replies(messages: List[Any], usages: List[ReplyUsage]) -> Iterator[RunEvent]:
    """Yield each reply of which it is known what it took."""
    step = 0
    for message, usage in zip(messages, usages):
        if usage != ReplyUsage():
            yield reply_event(step, usage, time_s=time_of(message))
        step += len(_calls_in(message))


def _usage(message: Any) -> ReplyUsage:
    amounts = field_of(message, "tokens")
    return usage_of(field_of(message, "model"), amounts, ("input",), ("output", "thoughts"))


_FORMAT = SessionFormat(_Session, _may_begin)
read, follow = _FORMAT.read, _FORMAT.follow
