"""Microsoft Agent Framework messages: contents ``function_call`` and ``function_result``."""

from typing import Any, Iterable, List

from ...stability import beta
from ...types import ToolResult
from .._content import field_of, flag_of, items_of, optional_text, tag_of, text_of, thoughts_in
from .._history import History
from .._history_builder import HistoryBuilder, add_call_in


@beta
def from_agent_framework(messages: Iterable[Any]) -> History:
    """Read the tool calls and results of a conversation of Microsoft Agent Framework.

    See https://learn.microsoft.com/agent-framework/.

    Args:
        messages: the conversation, oldest first: `Message` objects or ``message.to_dict()``;
            anything else is skipped.

    Returns:
        All calls with their results. The calls of one message are one round. A result with an
        ``exception`` is a failure. A message of the user that only answers a request for approval
        is not a turn of the user.

    >>> call = {"type": "function_call", "call_id": "c1", "name": "search", "arguments": {"q": 1}}
    >>> given = {"type": "function_result", "call_id": "c1", "result": "no", "exception": "no"}
    >>> history = from_agent_framework([
    ...     {"role": "assistant", "contents": [call]}, {"role": "tool", "contents": [given]},
    ... ])
    >>> history.calls[0].arguments, history.results[0]
    ({'q': 1}, ToolResult(text='no', is_error=True))
    """
    history = HistoryBuilder()
    for index, message in enumerate(messages):
        contents = contents_of(message)
        if tag_of(message, "role") == "assistant":
            history.add_thoughts(*thoughts_in(contents))
            history.add_reply(*_texts_in(contents))
        for content in contents:
            _add(history, content, index)
        if tag_of(message, "role") == "user" and any(map(_is_said, contents)):
            history.add_user_message(*map(_said_in, filter(_is_said, contents)))
    return history.build()


def contents_of(message: Any) -> List[Any]:
    return items_of(field_of(message, "contents"))


def is_call(content: Any) -> bool:
    """Whether a content is a call of a function."""
    return tag_of(content, "type") == "function_call"


def is_result(content: Any) -> bool:
    """Whether a content is what a function gave."""
    return tag_of(content, "type") == "function_result"


def call_id_of(content: Any) -> str:
    """Return the id that joins a call and its result; empty text if there is none."""
    return text_of(field_of(content, "call_id"))


def _add(history: HistoryBuilder, content: Any, round_: int) -> None:
    if is_call(content):
        add_call_in(history, content, ("name", "arguments", "call_id"), round_)
    elif is_result(content):
        result = ToolResult(_given_in(content), flag_of(content, "exception"))
        history.add_result(result, optional_text(call_id_of(content)))


def _given_in(result: Any) -> str:
    """Return the text of a result, and the addresses of what it shows besides."""
    shown = (optional_text(field_of(item, "uri")) for item in items_of(field_of(result, "items")))
    return "\n".join(filter(None, [text_of(field_of(result, "result")), *shown]))


def _texts_in(contents: List[Any]) -> List[str]:
    return [text_of(field_of(each, "text")) for each in contents if tag_of(each, "type") == "text"]


def _is_said(content: Any) -> bool:
    """Whether a content of a user's message is what the user said or showed."""
    kind = tag_of(content, "type")
    return bool(kind) and kind not in ("function_result", "function_approval_response")


def _said_in(content: Any) -> str:
    text = field_of(content, "text")
    return text_of(content if text is None else text)
