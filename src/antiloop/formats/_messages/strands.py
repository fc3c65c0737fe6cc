"""Strands and Amazon Bedrock's Converse: content blocks ``toolUse`` and ``toolResult``."""

from typing import Any, Iterable, List

from ...stability import beta
from ...types import ToolResult
from .._content import field_of, first_field, items_of, optional_text, tag_of, text_of, texts_in
from .._history import History
from .._history_builder import HistoryBuilder, add_call_in


@beta
def from_strands(messages: Iterable[Any]) -> History:
    """Read the tool calls and results of a Strands agent, or of any Converse conversation.

    See https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html.

    Args:
        messages: the conversation, oldest first; anything but a message is skipped.

    Returns:
        All calls with their results. The calls of one message are one round. A user message that
        holds only tool results, and marks for caching, is not a turn of the user.

    >>> used = {"toolUseId": "t1", "name": "search", "input": {"q": "cats"}}
    >>> given = {"toolUseId": "t1", "status": "error", "content": [{"text": "no"}]}
    >>> history = from_strands([
    ...     {"role": "assistant", "content": [{"toolUse": used}]},
    ...     {"role": "user", "content": [{"toolResult": given}]},
    ... ])
    >>> history.calls[0].arguments, history.results[0]
    ({'q': 'cats'}, ToolResult(text='no', is_error=True))
    """
    history = HistoryBuilder()
    for index, message in enumerate(messages):
        blocks = blocks_of(message)
        if tag_of(message, "role") == "assistant":
            history.add_thoughts(*texts_in(list(map(_thought_in, blocks))))
            history.add_reply(*texts_in(blocks))
        for block in blocks:
            _add(history, block, index)
        if tag_of(message, "role") == "user":
            history.add_user_message(*map(_text_of_block, filter(_is_said, blocks)))
    return history.build()


def blocks_of(message: Any) -> List[Any]:
    """Return the content blocks of a message."""
    return items_of(field_of(message, "content"))


def holds_call(block: Any) -> bool:
    """Whether a content block is a call of a tool, or what came back."""
    return _use_in(block) is not None or _result_in(block) is not None


def _use_in(block: Any) -> Any:
    return field_of(block, "toolUse")


def _result_in(block: Any) -> Any:
    return field_of(block, "toolResult")


def _is_said(block: Any) -> bool:
    """Whether a block of a user's message is what the user said or showed."""
    # Programs that cache prompts end the results with a mark up to where.
    return _result_in(block) is None and field_of(block, "cachePoint") is None


def _thought_in(block: Any) -> Any:
    return field_of(field_of(block, "reasoningContent"), "reasoningText")


def _add(history: HistoryBuilder, block: Any, round_: int) -> None:
    use, given = _use_in(block), _result_in(block)
    if use is not None:
        add_call_in(history, use, ("name", "input", "toolUseId"), round_)
    if given is not None:
        text = "\n".join(map(_text_of_block, blocks_of(given)))
        failed = tag_of(given, "status") == "error"
        history.add_result(ToolResult(text, failed), optional_text(field_of(given, "toolUseId")))


def _text_of_block(block: Any) -> str:
    """Return text or JSON as it is; any other block as separate JSON."""
    found = first_field(block, "text", "json")
    return text_of(block if found is None else found)
