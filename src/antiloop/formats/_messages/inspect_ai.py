"""Inspect AI's chat messages, as a sample of an evaluation keeps them."""

from typing import Any, Iterable

from ...stability import beta
from ...types import ToolResult
from .._content import field_of, items_of, optional_text, tag_of, text_of, texts_in, thoughts_in
from .._history import History
from .._history_builder import HistoryBuilder, add_call_in


@beta
def from_inspect(messages: Iterable[Any]) -> History:
    """Read the tool calls and results of a conversation of Inspect AI.

    Args:
        messages: the conversation, oldest first, as JSON objects or as Inspect's own objects.
            Anything but a message is skipped.

    Returns:
        All calls with their results. The calls of one message of the assistant are one round. The
        result of a call that failed, or was not approved, is its error.

    >>> call = {"id": "c1", "function": "search", "arguments": {"q": "cats"}}
    >>> refused = {"type": "approval", "message": "not now"}
    >>> history = from_inspect([
    ...     {"role": "assistant", "content": "", "tool_calls": [call]},
    ...     {"role": "tool", "content": "", "tool_call_id": "c1", "error": refused},
    ... ])
    >>> history.calls[0].arguments, history.results[0]
    ({'q': 'cats'}, ToolResult(text='not now', is_error=True))
    """
    history = HistoryBuilder()
    for index, message in enumerate(messages):
        role = tag_of(message, "role")
        if role == "assistant":
            content = field_of(message, "content")
            history.add_thoughts(*thoughts_in(content))
            history.add_reply(*texts_in(content))
            for call in items_of(field_of(message, "tool_calls")):
                add_call_in(history, call, ("function", "arguments", "id"), index)
        elif role == "tool":
            _add_result(history, message)
        elif role == "user":
            history.add_user_message(text_of(field_of(message, "content")))
    return history.build()


def _add_result(history: HistoryBuilder, message: Any) -> None:
    error = field_of(message, "error")
    texts = (text_of(field_of(message, "content")), text_of(field_of(error, "message")))
    history.add_result(
        ToolResult("\n".join(filter(None, texts)), error is not None),
        optional_text(field_of(message, "tool_call_id")),
        optional_text(field_of(message, "function")),
    )
