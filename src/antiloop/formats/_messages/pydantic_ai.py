"""Pydantic AI messages: parts such as ``tool-call`` and ``tool-return``."""

from typing import Any, Iterable, List, Optional

from ...stability import beta
from ...types import ToolResult
from .._content import field_of, items_of, optional_text, tag_of, text_of, time_of
from .._history import History
from .._history_builder import HistoryBuilder, add_call_in


@beta
def from_pydantic_ai(messages: Iterable[Any]) -> History:
    """Read the tool calls and results of a Pydantic AI run.

    See https://ai.pydantic.dev/message-history/.

    Args:
        messages: the run's messages, oldest first, as they are or as
            ``ModelMessagesTypeAdapter`` dumps them; anything else is skipped.

    Returns:
        All calls with their results, also of tools that the provider runs. The calls of one
        response are one round. A return whose outcome is not ``success`` and a retry that a tool
        asks for are failures; a retry of the final answer is not a result of a tool. What
        comes beside results as a prompt of the user, such as pictures, is a result of the tools.

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
        _add(history, parts_of(message), index, time_of(message))
    return history.build()


def parts_of(message: Any) -> List[Any]:
    return items_of(field_of(message, "parts"))


def _add(history: HistoryBuilder, parts: List[Any], round_: int, at: Optional[float]) -> None:
    said = _texts_of("user-prompt", parts)
    answers = [part for part in parts if _is_answer(part)]
    for text in _texts_of("compaction", parts):
        history.add_summary(text)
    history.add_thoughts(*_texts_of("thinking", parts))
    history.add_reply(*_texts_of("text", parts))
    for part in parts:
        if _kind(part).endswith("tool-call"):  # or builtin-tool-call, which the provider runs
            add_call_in(history, part, ("tool_name", "args", "tool_call_id"), round_, at)
    for part in answers:
        call_id = optional_text(field_of(part, "tool_call_id"))
        history.add_result(_result(part, said), call_id, _name(part) or None, time_of(part))
    for text in () if answers else said:
        history.add_user_message(text)


def _is_answer(part: Any) -> bool:
    kind = _kind(part)
    return kind.endswith("tool-return") or (kind == "retry-prompt" and _name(part) != "")


def _result(part: Any, beside: List[str]) -> ToolResult:
    outcome = "retried" if _kind(part) == "retry-prompt" else tag_of(part, "outcome")
    text = "\n".join([text_of(field_of(part, "content")), *beside])
    return ToolResult(text, outcome not in ("", "success"))


def _texts_of(kind: str, parts: List[Any]) -> List[str]:
    return [text_of(field_of(part, "content")) for part in parts if _kind(part) == kind]


def _kind(part: Any) -> str:
    return tag_of(part, "part_kind")


def _name(part: Any) -> str:
    return text_of(field_of(part, "tool_name"))
