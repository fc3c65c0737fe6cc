"""Pydantic AI messages: parts such as ``tool-call`` and ``tool-return``."""

from typing import Any, Iterable, List

from ..types import ToolResult
from .content import arguments_of, field_of, optional_text, tag_of, text_of
from .history import History, HistoryBuilder


def from_pydantic_ai(messages: Iterable[Any]) -> History:
    """Read the tool calls and results of a Pydantic AI run.

    See https://ai.pydantic.dev/message-history/.

    Args:
        messages: the run's messages, oldest first, as they are or as
            ``ModelMessagesTypeAdapter`` dumps them; anything else is skipped.

    Returns:
        All calls with their results, also of tools that the provider runs. The calls of one
        response are one round. A return whose outcome is not ``success`` and a retry that a tool
        asks for are failures; a retry of the final answer is no result of a tool.

    >>> history = from_pydantic_ai([
    ...     {"kind": "response", "parts": [
    ...         {"part_kind": "tool-call", "tool_name": "search", "args": '{"q": "cats"}'}]},
    ...     {"kind": "request", "parts": [
    ...         {"part_kind": "retry-prompt", "tool_name": "search", "content": "try dogs"}]},
    ... ])
    >>> history.calls[0].arguments, history.results[0]
    ({'q': 'cats'}, ToolResult(text='try dogs', is_error=True))
    """
    history = HistoryBuilder()
    for index, message in enumerate(messages):
        for part in parts_of(message):
            _add(history, part, index)
    return history.build()


def parts_of(message: Any) -> List[Any]:
    """Give the parts of a message."""
    parts = field_of(message, "parts")
    return list(parts) if isinstance(parts, (list, tuple)) else []


def _add(history: HistoryBuilder, part: Any, round_: int) -> None:
    kind = tag_of(part, "part_kind")
    name, call_id = (
        text_of(field_of(part, "tool_name")),
        optional_text(field_of(part, "tool_call_id")),
    )
    if kind.endswith("tool-call"):  # or builtin-tool-call, which the provider runs
        history.add_call(name, arguments_of(field_of(part, "args")), call_id, round_)
    elif kind.endswith("tool-return") or (kind == "retry-prompt" and name):
        history.add_result(_result(part, kind), call_id, name or None)
    elif kind == "user-prompt":
        history.add_user_message(text_of(field_of(part, "content")))


def _result(part: Any, kind: str) -> ToolResult:
    outcome = "retried" if kind == "retry-prompt" else tag_of(part, "outcome")
    return ToolResult(text_of(field_of(part, "content")), outcome not in ("", "success"))
