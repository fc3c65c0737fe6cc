"""OpenAI chat conversations: a list of messages, or an object that holds one as ``messages``."""

from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional

from ..formats import from_openai_chat
from ..formats.content import text_of
from .recorded_run import RecordedRun
from .records import Record

_ID_KEYS = ("run_id", "conversation_id", "id")
_FOREIGN_PARTS = ("tool_use", "tool_result")


def recognises(value: Any) -> bool:
    """Whether a JSON value is one conversation of this format."""
    messages = _messages(value)
    return messages is not None and not any(map(_is_foreign, messages))


def read(
    found: Iterable[Record], name: str, on_trouble: Callable[[int, str], None]
) -> Iterator[RecordedRun]:
    """Yield one run for each conversation, skipping what is none."""
    for record in found:
        messages = _messages(record.value)
        if messages is None:
            on_trouble(record.line, "no chat messages here")
            continue
        source = record.place(name)
        told = from_openai_chat(messages)
        run_id = _run_id(record.value) or source
        yield RecordedRun(run_id, told.calls, told.results, told.turn_starts, source)


def _messages(value: Any) -> Optional[List[Dict[str, Any]]]:
    messages = value.get("messages") if isinstance(value, dict) else value
    if not isinstance(messages, list) or not any(map(_is_message, messages)):
        return None
    return messages


def _is_message(message: Any) -> bool:
    return isinstance(message, dict) and isinstance(message.get("role"), str)


def _is_foreign(message: Any) -> bool:
    """Whether a message carries its calls as content parts, as another API does."""
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, list):
        return False
    return any(isinstance(part, dict) and part.get("type") in _FOREIGN_PARTS for part in content)


def _run_id(value: Any) -> str:
    if not isinstance(value, dict):
        return ""
    return next((text_of(value[key]) for key in _ID_KEYS if value.get(key) is not None), "")
