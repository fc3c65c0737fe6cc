"""Gemini CLI: the messages of a recorded session."""

from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple

from ...stability import beta
from ...types import ToolResult
from ..amounts import moment_s
from ..content import arguments_of, field_of, items_of, optional_text, tag_of, text_of, texts_in
from ..history import History, HistoryBuilder
from ..messages.gemini import response_in, result_of

_SAME_ROUND_S = 0.1
_FINAL = ("success", "error", "cancelled")


@beta
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
    session = SessionBuilder()
    for index, message in enumerate(messages):
        session.add(message, str(index))
    return session.build()


class SessionBuilder:
    """Collects calls and results, message by message, also those that are written again."""

    def __init__(self) -> None:
        self._history = HistoryBuilder()
        self._round = 0
        self._is_answered: Dict[str, List[bool]] = {}

    def add(self, message: Any, own: str) -> None:
        """Add one message; where its id was there before, what is new in it.

        Args:
            message: the message.
            own: its id, or what else stands for it.
        """
        if own not in self._is_answered:
            self._add_words(message)
        is_answered = self._is_answered.setdefault(own, [])
        for index, (is_new_round, call) in enumerate(_calls_of(message)):
            if index == len(is_answered):
                self._round += is_new_round
                self._add_call(call)
                is_answered.append(False)
            if not is_answered[index]:
                is_answered[index] = self._add_result(call)

    def _add_words(self, message: Any) -> None:
        content = field_of(message, "content")
        if tag_of(message, "type") == "user":
            self._history.add_user_message(_text_of_parts(content))
        elif tag_of(message, "type") == "gemini":
            self._history.add_thoughts(*map(_thought, items_of(field_of(message, "thoughts"))))
            self._history.add_reply(*texts_in(content))

    def build(self, since: int = 0) -> History:
        """Return what was collected so far, without the first ``since`` calls."""
        return self._history.build(since)

    def forget(self, before: int, heard: int = 0) -> None:
        """Remove what came before a step, now or later; ids stay, as all may come again."""
        self._history.forget(before, heard)

    def _add_call(self, call: Any) -> None:
        arguments = arguments_of(field_of(call, "args"))
        self._history.add_call(_name(call), arguments, _call_id(call), self._round)

    def _add_result(self, call: Any) -> bool:
        status, returned = tag_of(call, "status"), field_of(call, "result")
        if status not in _FINAL or returned is None:
            return False
        results = [_result_of_part(part) for part in _listed(returned)]
        failed = status != "success" or any(result.is_error for result in results)
        result = ToolResult("\n".join(result.text for result in results), failed)
        self._history.answer(result, _call_id(call), _name(call))
        return True


def _calls_of(message: Any) -> Iterator[Tuple[bool, Any]]:
    """Yield each call of a message, and whether a round begins with it."""
    calls = field_of(message, "toolCalls")
    before: Optional[float] = None
    for index, call in enumerate(calls if isinstance(calls, list) else []):
        now = moment_s(field_of(call, "timestamp"))
        is_later = None not in (before, now) and (now or 0) - (before or 0) > _SAME_ROUND_S
        yield index == 0 or is_later, call
        before = now


def _call_id(call: Any) -> Optional[str]:
    return optional_text(field_of(call, "id"))


def _name(call: Any) -> str:
    return text_of(field_of(call, "name"))


def _result_of_part(part: Any) -> ToolResult:
    response = response_in(part)
    if response is not None:
        return result_of(field_of(response, "response"))
    text = field_of(part, "text")
    return ToolResult(text_of(part if text is None else text))


def _thought(thought: Any) -> str:
    """Return what the model thought: a heading, and what is under it."""
    texts = (text_of(field_of(thought, name)) for name in ("subject", "description"))
    return ": ".join(filter(None, texts))


def _text_of_parts(content: Any) -> str:
    return "\n".join(_result_of_part(part).text for part in _listed(content))


def _listed(parts: Any) -> List[Any]:
    return parts if isinstance(parts, list) else [parts]
