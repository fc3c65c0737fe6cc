"""OpenAI chat completions: ``messages`` with ``tool_calls``, and the older ``function_call``."""

from typing import Any, Iterable

from ...stability import beta
from ...types import ToolResult
from .._content import (
    arguments_of,
    field_of,
    filled_field,
    first_field,
    flag_of,
    items_of,
    optional_text,
    tag_of,
    text_of,
    texts_in,
    thoughts_in,
)
from .._history import History
from .._history_builder import HistoryBuilder


@beta
def from_openai_chat(messages: Iterable[Any]) -> History:
    """Read the tool calls and results of an OpenAI chat conversation.

    Args:
        messages: the conversation, oldest first, as JSON objects or as the SDK's own objects.
            Messages without tool calls may be left in; anything but a message is skipped.

    Returns:
        All calls with their results. The calls of one assistant message are one round.

    >>> call = {"id": "c1", "function": {"name": "search", "arguments": '{"q": "cats"}'}}
    >>> history = from_openai_chat([
    ...     {"role": "assistant", "tool_calls": [call]},
    ...     {"role": "tool", "tool_call_id": "c1", "content": "nothing found"},
    ... ])
    >>> history.calls[0].arguments, history.results[0].text
    ({'q': 'cats'}, 'nothing found')
    """
    history = HistoryBuilder()
    for index, message in enumerate(messages):
        role = tag_of(message, "role")
        if role == "assistant":
            content = field_of(message, "content")
            thoughts = texts_in(filled_field(message, "reasoning_content", "reasoning"))
            history.add_thoughts(*(thoughts or thoughts_in(content)))
            history.add_reply(*texts_in(content))
            add_calls(history, message, index)
        elif role in ("tool", "function"):
            _add_result(history, message)
        elif role == "user":
            history.add_user_message(text_of(field_of(message, "content")))
    return history.build()


def add_calls(history: HistoryBuilder, message: Any, index: int) -> None:
    """Add the calls that a message of the assistant asks for."""
    calls = items_of(field_of(message, "tool_calls"))
    legacy = field_of(message, "function_call")
    if legacy is not None and not calls:
        calls = [legacy]
    for call in calls:
        # Some exports leave the inner object out and put name and arguments beside the id.
        body = filled_field(call, "function", "custom")
        body = call if body is None else body
        history.add_call(
            # Stored conversations of an `Agent` name the tool as a `ToolCall` does.
            text_of(filled_field(body, "name", "tool_name")),
            arguments_of(first_field(body, "arguments", "input")),
            optional_text(field_of(call, "id")),
            index,
        )


def _add_result(history: HistoryBuilder, message: Any) -> None:
    history.add_result(
        ToolResult(text_of(field_of(message, "content")), flag_of(message, "is_error")),
        optional_text(field_of(message, "tool_call_id")),
        optional_text(filled_field(message, "name", "tool_name")),
    )
