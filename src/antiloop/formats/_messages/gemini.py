"""Gemini contents: parts such as ``functionCall`` and ``functionResponse``."""

from dataclasses import replace
from typing import Any, Iterable, List, Mapping, Optional

from ..._text.canonical import plain
from ...stability import beta
from ...types import ToolResult
from .._content import field_of, first_field, flag_of, items_of, optional_text, tag_of, text_of
from .._history import History
from .._history_builder import HistoryBuilder, add_call_in

_DATA = ("inlineData", "inline_data", "fileData", "file_data")
_ANSWERS = ("output", "result", "error", "content")


@beta
def from_gemini(contents: Iterable[Any]) -> History:
    """Read the tool calls and results of a conversation with Gemini.

    See https://ai.google.dev/api/caching#Content. Gemini often gives calls no id; then the name of
    the tool, and after that the order, tells which call of the latest round a result answers.

    Args:
        contents: the conversation, oldest first, as JSON objects (in either case of the API's
            names) or as the SDK's own objects; anything else is skipped.

    Returns:
        All calls with their results. The calls of one content are one round. A response with the
        key ``error`` is a failure, as the API has it.

    >>> history = from_gemini([
    ...     {"role": "model", "parts": [{"functionCall": {"name": "ls", "args": {"path": "."}}}]},
    ...     {"role": "user", "parts": [
    ...         {"functionResponse": {"name": "ls", "response": {"output": "a.py"}}}]},
    ... ])
    >>> history.calls[0].arguments, history.results[0].text
    ({'path': '.'}, 'a.py')
    """
    history = HistoryBuilder()
    for index, content in enumerate(contents):
        if tag_of(content, "role") == "model":
            history.add_thoughts(*words_in(content, thoughts=True))
            history.add_reply(*words_in(content))
        add_parts(history, content, index)
        if tag_of(content, "role") == "user":
            history.add_user_message(*said_in(content))
    return history.build()


def add_parts(
    history: HistoryBuilder,
    content: Any,
    round_: int,
    *,
    only_answers: bool = False,
    at: Optional[float] = None,
) -> None:
    """Add the calls and the results that one content holds; or of those, what calls wait for."""
    add_result = history.answer if only_answers else history.add_result
    for part in parts_of(content):
        call, response = call_in(part), response_in(part)
        if call is not None:
            add_call_in(history, call, ("name", "args", "id"), round_, at)
        if response is not None:
            name, call_id = field_of(response, "name"), field_of(response, "id")
            result = _with_pictures(result_of(field_of(response, "response")), response)
            add_result(result, optional_text(call_id), optional_text(name), at)


def parts_of(content: Any) -> List[Any]:
    return items_of(field_of(content, "parts"))


def call_in(part: Any) -> Any:
    """Return the call of a tool that a part holds; None if it holds none."""
    return first_field(part, "functionCall", "function_call")


def response_in(part: Any) -> Any:
    """Return what came back from a tool in a part; None if nothing did."""
    return first_field(part, "functionResponse", "function_response")


def words_in(content: Any, *, thoughts: bool = False) -> List[str]:
    """Return the texts of a content: what was said, or what the model thought."""
    parts = [part for part in parts_of(content) if flag_of(part, "thought") is thoughts]
    texts = (field_of(part, "text") for part in parts)
    return [text for text in texts if isinstance(text, str) and text]


def said_in(content: Any) -> List[str]:
    """Return what the user says in a content; pictures alone are said without a word."""
    words, parts = words_in(content), parts_of(content)
    # Pictures beside results are what a tool shows.
    is_answer = any(response_in(part) is not None for part in parts)
    shows = any(first_field(part, *_DATA) is not None for part in parts)
    return words or [""] * (shows and not is_answer)


def result_of(response: Any) -> ToolResult:
    """Read what a tool gave back: the text under one of the usual keys alone, else all as JSON.

    >>> result_of({"error": "no such file"})
    ToolResult(text='no such file', is_error=True)
    >>> result_of({"output": "a", "seconds": 3}).text
    '{"output":"a","seconds":3}'
    """
    if not isinstance(response, Mapping):
        return ToolResult(text_of(response))
    failed = flag_of(response, "error") or field_of(response, "isError") is True
    answer = {key: value for key, value in plain(response).items() if key != "isError"}
    alone = next((answer[key] for key in _ANSWERS if [key] == list(answer)), response)
    return ToolResult(text_of(alone), failed)


def _with_pictures(result: ToolResult, response: Any) -> ToolResult:
    """Add what a tool returned beside its text, as parts of the response."""
    parts = parts_of(response)
    return replace(result, text="\n".join([result.text, *map(text_of, parts)]))
