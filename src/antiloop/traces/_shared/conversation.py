"""Formats in which one JSON value holds a whole conversation, as a list of messages."""

from bisect import bisect_left
from dataclasses import dataclass
from itertools import chain
from typing import Any, Callable, Iterable, Iterator, List, Optional, Tuple

from ...formats import History
from ...formats._internal import first_field, mapping_of, text_of, time_of
from .._recorded_run import RecordedRun, RunEvent
from .records import OnTrouble, Record
from .usage import ReplyUsage, reply_event, total_usage

MessageTest = Callable[[Any], bool]
_ID_KEYS = ("run_id", "conversation_id", "session_id", "sessionId", "thread_id", "id")


@dataclass(frozen=True)
class ConversationFormat:
    """A format of conversations, by the ways in which it differs from others."""

    keys: Tuple[str, ...]
    """The keys of the messages in an object, or of an object with them; a list needs neither."""
    is_message: MessageTest
    """Whether a JSON value may be a message of this format."""
    is_own: MessageTest
    """Whether a JSON value can only be a message of this format; one such shows the format."""
    history: Callable[[Iterable[Any]], History]
    usage: Callable[[Any], ReplyUsage]
    """Return the usage that a message tells, or the object around the messages."""
    is_joined: bool = False
    """Whether the messages under one key go on with those under the key before; otherwise the first
    one has all."""
    is_foreign: MessageTest = lambda _: False
    """Whether a message is of another format after all; one such shows that."""
    agent: Callable[[Any], str] = lambda _: ""
    """Return the agent that a message is of."""

    def recognizes(self, value: Any) -> bool:
        """Whether a JSON value is one conversation of this format."""
        messages = self.messages_in(value)
        return messages is not None and any(map(self.is_own, messages))

    def read(
        self, found: Iterable[Record], name: str, on_trouble: OnTrouble
    ) -> Iterator[RecordedRun]:
        """Yield one run for each conversation, skipping other values."""
        for record in found:
            messages = self.messages_in(record.value)
            if messages is None:
                on_trouble(record.line, "")
            else:
                yield self._run(record.value, messages, record.place(name))

    def messages_in(self, value: Any) -> Optional[List[Any]]:
        """Return the messages of a JSON value; None if it holds none of this format."""
        while isinstance(value, dict):
            # What is null, or a text such as the input of a response, holds no messages.
            held = [value[key] for key in self.keys if isinstance(value.get(key), (dict, list))]
            is_joined = self.is_joined and all(isinstance(each, list) for each in held)
            value = list(chain.from_iterable(held)) if is_joined else next(iter(held), None)
        if not isinstance(value, list) or not any(map(self.is_message, value)):
            return None
        return None if any(map(self.is_foreign, value)) else value

    def _run(self, value: Any, messages: List[Any], source: str) -> RecordedRun:
        history = self.history(messages)
        beside = mapping_of(value)
        usages = list(map(self.usage, messages))
        return RecordedRun(
            text_of(first_field(beside, *_ID_KEYS)) or source,
            source=source,
            events=tuple(self._replies(history, messages, usages)),
            agent=next(filter(None, map(self.agent, messages)), None),
            **vars(history),
            **vars(total_usage([self.usage(beside), *usages])),
        )

    def _replies(
        self, history: History, messages: List[Any], usages: List[ReplyUsage]
    ) -> Iterator[RunEvent]:
        """Yield each reply of which it is known what it took."""
        rounds = [call.round or 0 for call in history.calls]
        for index, (message, usage) in enumerate(zip(messages, usages)):
            if usage != ReplyUsage():
                agent, time_s = self.agent(message), time_of(message)
                before = bisect_left(rounds, index)
                yield reply_event(before, usage, agent=agent or None, time_s=time_s)
