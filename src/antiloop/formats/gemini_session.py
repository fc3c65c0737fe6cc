"""Gemini CLI: the messages of a recorded session."""

from typing import Any, Iterable, Iterator, List, Optional, Tuple

from ..types import ToolResult
from .amounts import moment_s
from .content import arguments_of, field_of, optional_text, tag_of, text_of
from .gemini import response_in, result_of
from .history import History, HistoryBuilder

_SAME_ROUND_S = 0.1
_FINAL = ("success", "error", "cancelled")


def from_gemini_session(messages: Iterable[Any]) -> History:
    """Read the tool calls and results of a Gemini CLI session.

    Args:
        messages: the records of a session, oldest first: users', Gemini's, and others, which are
            skipped.

    Returns:
        All calls with their results. Replies without a word are recorded as one message, so calls
        of one message are one round only where they were recorded within a tenth of a second.

    >>> call = {"id": "1", "name": "ls", "args": {}, "status": "success", "result": "a.py"}
    >>> from_gemini_session([{"type": "gemini", "toolCalls": [call]}]).results[0].text
    'a.py'
    """
    history = HistoryBuilder()
    round_ = 0
    for message in messages:
        if tag_of(message, "type") == "user":
            history.add_user_message(_text_of_parts(field_of(message, "content")))
        for is_new_round, call in _calls_of(message):
            round_ += is_new_round
            _add(history, call, round_)
    return history.build()


def _calls_of(message: Any) -> Iterator[Tuple[bool, Any]]:
    """Yield each call of a message, and whether a round begins with it."""
    calls = field_of(message, "toolCalls")
    before: Optional[float] = None
    for index, call in enumerate(calls if isinstance(calls, list) else []):
        now = moment_s(field_of(call, "timestamp"))
        is_later = None not in (before, now) and (now or 0) - (before or 0) > _SAME_ROUND_S
        yield index == 0 or is_later, call
        before = now


def _add(history: HistoryBuilder, call: Any, round_: int) -> None:
    call_id = optional_text(field_of(call, "id"))
    name = text_of(field_of(call, "name"))
    history.add_call(name, arguments_of(field_of(call, "args")), call_id, round_)
    status, returned = tag_of(call, "status"), field_of(call, "result")
    if status in _FINAL and returned is not None:
        told = [_result_of_part(part) for part in _listed(returned)]
        failed = status != "success" or any(result.is_error for result in told)
        result = ToolResult("\n".join(result.text for result in told), failed)
        history.add_result(result, call_id, name)


def _result_of_part(part: Any) -> ToolResult:
    response = response_in(part)
    if response is not None:
        return result_of(field_of(response, "response"))
    text = field_of(part, "text")
    return ToolResult(text_of(part if text is None else text))


def _text_of_parts(content: Any) -> str:
    return "\n".join(_result_of_part(part).text for part in _listed(content))


def _listed(parts: Any) -> List[Any]:
    return parts if isinstance(parts, list) else [parts]
