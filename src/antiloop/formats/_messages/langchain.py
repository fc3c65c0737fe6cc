"""LangChain and LangGraph messages: live, dumped as dictionaries, or serialized."""

from typing import Any, Iterable, List, Mapping

from ...stability import beta
from ...types import ToolResult
from .._content import (
    field_of,
    is_compaction,
    items_of,
    optional_text,
    tag_of,
    text_of,
    texts_in,
    thoughts_in,
)
from .._history import History
from .._history_builder import HistoryBuilder, add_call_in

_CALLS = ("tool_calls", "invalid_tool_calls")


@beta
def from_langchain(messages: Iterable[Any]) -> History:
    """Read the tool calls and results of a LangChain conversation.

    Args:
        messages: the conversation, oldest first: messages as they are, ``message.model_dump()``,
            ``messages_to_dict(messages)`` or ``dumpd(message)``; anything else is skipped.

    Returns:
        All calls with their results. The calls of one message are one round; those that LangChain
        could not parse (``invalid_tool_calls``) keep their arguments as text. An artifact is not
        read: the model does not see it.

    >>> call = {"id": "c1", "name": "search", "args": {"q": "cats"}}
    >>> history = from_langchain([
    ...     {"type": "ai", "data": {"content": "", "tool_calls": [call]}},
    ...     {"type": "tool", "data": {"content": "no", "tool_call_id": "c1", "status": "error"}},
    ... ])
    >>> history.calls[0].arguments, history.results[0]
    ({'q': 'cats'}, ToolResult(text='no', is_error=True))
    """
    history = HistoryBuilder()
    for index, message in enumerate(messages):
        kind, body = kind_of(message), body_of(message)
        if kind == "ai":
            if any(map(is_compaction, items_of(field_of(body, "content")))):
                history.add_summary()
            history.add_thoughts(*thoughts_of(body))
            history.add_reply(*texts_in(field_of(body, "content")))
            for call in calls_of(body):
                add_call_in(history, call, ("name", "args", "id"), index)
        elif kind == "tool":
            _add_result(history, body)
        elif kind == "human":
            history.add_user_message(text_of(field_of(body, "content")))
    return history.build()


def body_of(message: Any) -> Any:
    """Return what holds a message's fields, which dumps wrap into ``data`` or ``kwargs``."""
    if isinstance(message, Mapping):
        wrapped = field_of(message, "data" if field_of(message, "lc") is None else "kwargs")
        return wrapped if isinstance(wrapped, Mapping) else message
    return message


def kind_of(message: Any) -> str:
    """Return ``ai``, ``tool``, ``human`` or another word; empty text for anything but a message.

    >>> kind_of({"lc": 1, "id": ["langchain", "schema", "messages", "AIMessageChunk"]})
    'ai'
    """
    if isinstance(message, Mapping) and field_of(message, "lc") is not None:
        path = items_of(field_of(message, "id"))
        name = text_of(path[-1]) if path else ""
    else:
        name = tag_of(message, "type")
    return name.lower().replace("messagechunk", "").replace("message", "")


def calls_of(message: Any) -> List[Any]:
    """Return the calls that a message asks for, parsed or not."""
    body = body_of(message)
    return [call for name in _CALLS for call in items_of(field_of(body, name))]


def thoughts_of(body: Any) -> List[str]:
    """Return what the model thought; some providers put it beside the content."""
    beside = field_of(field_of(body, "additional_kwargs"), "reasoning_content")
    return thoughts_in(field_of(body, "content")) or texts_in(beside)


def _add_result(history: HistoryBuilder, body: Any) -> None:
    failed = tag_of(body, "status") == "error"
    history.add_result(
        ToolResult(text_of(field_of(body, "content")), failed),
        optional_text(field_of(body, "tool_call_id")),
        optional_text(field_of(body, "name")),
    )
