"""Gemini CLI: the messages of a recorded session."""

from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple

from ...stability import beta
from ...types import ToolResult
from .._content import field_of, items_of, optional_text, tag_of, text_of, texts_in, time_of
from .._history import History
from .._history_builder import HistoryBuilder, add_call_in
from .._messages.gemini import response_in, result_of

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
        session.add_message(message, str(index))
    return session.build()


class SessionBuilder(HistoryBuilder):
    """Collects calls and results, message by message, also those that are written again."""

    def __init__(self) -> None:
        super().__init__("gemini-cli")
        self._round = 0
        self._is_answered: Dict[str, List[bool]] = {}

    def add_message(self, message: Any, own: str) -> None:
        """Add one message; where its id was there before, what is new in it.

        Args:
            message: the message.
            own: its id, or what else stands for it.
        """
        if own not in self._is_answered:
            self._add_words(message)
        is_answered = self._is_answered.setdefault(own, [])
        for index, (is_new_round, began, call) in enumerate(_calls_of(message)):
            if index == len(is_answered):
                self._round += is_new_round
                add_call_in(self, call, ("name", "args", "id"), self._round, began)
                is_answered.append(False)
            if not is_answered[index]:
                is_answered[index] = self._add_result(call)

    def _add_words(self, message: Any) -> None:
        content = field_of(message, "content")
        if tag_of(message, "type") == "user":
            # Results are written again in the place of the user.
            said = [part for part in _listed(content) if response_in(part) is None]
            self.add_user_message(*(_result_of_part(part).text for part in said))
        elif tag_of(message, "type") == "gemini":
            self.add_thoughts(*map(_thought, items_of(field_of(message, "thoughts"))))
            self.add_reply(*texts_in(content))

    def _add_result(self, call: Any) -> bool:
        status, returned = tag_of(call, "status"), field_of(call, "result")
        if status not in _FINAL or returned is None:
            return False
        results = [_result_of_part(part) for part in _listed(returned)]
        failed = status != "success" or any(result.is_error for result in results)
        result = ToolResult("\n".join(result.text for result in results), failed)
        call_id, name = optional_text(field_of(call, "id")), text_of(field_of(call, "name"))
        self.answer(result, call_id, name, time_of(call))
        return True


def _calls_of(message: Any) -> Iterator[Tuple[bool, Optional[float], Any]]:
    """Yield each call of a message, whether a round begins with it, and when that began.

    The time of a message is that of the reply, and the time of a call that of its result.
    """
    before: Optional[float] = None
    began = time_of(message)
    for index, call in enumerate(items_of(field_of(message, "toolCalls"))):
        now = time_of(call)
        is_later = None not in (before, now) and (now or 0) - (before or 0) > _SAME_ROUND_S
        began = before if is_later else began
        yield index == 0 or is_later, began, call
        before = now


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


def _listed(parts: Any) -> List[Any]:
    return parts if isinstance(parts, list) else [parts]
