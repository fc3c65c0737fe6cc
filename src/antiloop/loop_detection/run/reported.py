"""Which calls were reported already: hooks before and after a call may both report it."""

from typing import Callable, List, Optional, Sequence, Tuple

from ...latest import Latest
from ...types import ToolCall
from ..evidence.compared import Asked, Result, asked_of
from ..evidence.fingerprint import text_fingerprint
from ..evidence.tool_policy import ToolPolicy
from ..text.canonical import text_of

_TOKEN = 8  # hexadecimal digits that tell the reported calls apart

New = Tuple[Sequence[ToolCall], Sequence[Result], Sequence[Optional[Asked]]]
"""Calls, their results, and what is known of the calls already, where anything is."""


class Reported:
    """The calls with ids that were reported last.

    Args:
        size: how many there are at most.
    """

    def __init__(self, size: int) -> None:
        self._tokens: Latest[str, None] = Latest(size)

    def new(
        self,
        calls: Sequence[ToolCall],
        results: Sequence[Result],
        policy_of: Callable[[ToolCall], ToolPolicy],
    ) -> New:
        """Leave out calls that were reported before, and remember the others."""
        for call in calls:
            if call.id is not None:
                return self._first_reports(calls, results, policy_of)
        return calls, results, ()

    def to_text(self) -> str:
        """Return the state as one text."""
        return "".join(self._tokens)

    def load(self, text: str) -> None:
        """Take over a state that `to_text` gave."""
        for at in range(0, len(text), _TOKEN):
            self._tokens[text[at : at + _TOKEN]] = None

    def _first_reports(
        self,
        calls: Sequence[ToolCall],
        results: Sequence[Result],
        policy_of: Callable[[ToolCall], ToolPolicy],
    ) -> New:
        new_calls: List[ToolCall] = []
        new_results: List[Result] = []
        all_asked: List[Optional[Asked]] = []
        for position, call in enumerate(calls):
            asked = None if call.id is None else asked_of(call, policy_of(call))
            token = None if asked is None else _token(call, asked)
            if token is None or token not in self._tokens:
                new_calls.append(call)
                new_results.append(results[position] if position < len(results) else None)
                all_asked.append(asked)
            if token is not None:
                self._tokens[token] = None
        return new_calls, new_results, all_asked


def _token(call: ToolCall, asked: Asked) -> str:
    token = f"{text_of(call.id)}\x00{text_of(call.round)}\x00{asked.key}"
    return text_fingerprint(token)[:_TOKEN]
