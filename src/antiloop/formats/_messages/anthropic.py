"""Anthropic messages: content blocks ``tool_use`` and ``tool_result``."""

from typing import Any, Iterable, List, Optional

from ...stability import beta
from ...types import ToolResult
from .._content import (
    field_of,
    flag_of,
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


@beta
def from_anthropic(messages: Iterable[Any]) -> History:
    """Read the tool calls and results of an Anthropic conversation.

    Tools that Anthropic runs itself (``server_tool_use``, ``mcp_tool_use`` and their results) are
    read as well. See https://docs.anthropic.com/en/api/messages.

    Args:
        messages: the conversation, oldest first, as JSON objects or as the SDK's own objects;
            anything but a message is skipped.

    Returns:
        All calls with their results. The calls of one assistant message are one round. A user
        message with only tool results is not a turn of the user.

    >>> history = from_anthropic([
    ...     {"role": "assistant", "content": [
    ...         {"type": "tool_use", "id": "t1", "name": "search", "input": {"q": "cats"}}]},
    ...     {"role": "user", "content": [
    ...         {"type": "tool_result", "tool_use_id": "t1", "content": "no", "is_error": True}]},
    ... ])
    >>> history.calls[0].arguments, history.results[0]
    ({'q': 'cats'}, ToolResult(text='no', is_error=True))
    """
    history = HistoryBuilder()
    for index, message in enumerate(messages):
        add_words(history, message)
        add_blocks(history, message, index)
        history.add_user_message(*words_of(message))
    return history.build()


def add_blocks(
    history: HistoryBuilder, message: Any, round_: int, at: Optional[float] = None
) -> None:
    """Add the calls and the results that one message holds, and when it was written."""
    for block in blocks_of(message):
        if is_call(block):
            add_call_in(history, block, ("name", "input", "id"), round_, at)
        elif is_result(block):
            _add_result(history, block, at)


def words_of(message: Any) -> List[str]:
    """Return what a user says in a message; tool results do not count."""
    if tag_of(message, "role") != "user":
        return []
    return [text_of([block]) for block in blocks_of(message) if not is_result(block)]


def add_words(history: HistoryBuilder, message: Any) -> None:
    """Add what the model thinks and says in a message, and whether it was shown less before."""
    if tag_of(message, "role") == "assistant":
        content = field_of(message, "content")
        for block in filter(is_compaction, items_of(content)):
            history.add_summary(text_of(field_of(block, "content")))
        history.add_thoughts(*thoughts_in(content))
        history.add_reply(*texts_in(content))


def blocks_of(message: Any) -> List[Any]:
    """Return the content blocks of a message; plain text is one."""
    content = field_of(message, "content")
    if isinstance(content, (list, tuple)):
        return list(content)
    return [content] if flag_of(message, "content") else []


def is_call(block: Any) -> bool:
    """Whether a content block is a call of a tool."""
    return tag_of(block, "type").endswith("tool_use")


def is_result(block: Any) -> bool:
    """Whether a content block is what came back from a tool."""
    return tag_of(block, "type").endswith("tool_result")


def _add_result(history: HistoryBuilder, block: Any, at: Optional[float]) -> None:
    content = field_of(block, "content")
    # Anthropic's own tools say that they failed in the type of what they give back.
    failed = tag_of(content, "type").endswith("_error")
    history.add_result(
        ToolResult(text_of(content), failed or flag_of(block, "is_error")),
        optional_text(field_of(block, "tool_use_id")),
        ended_at=at,
    )
