"""Which calls were reported already: hooks before and after a call may both report it."""

from typing import Any, Callable, Hashable, List, Optional, Sequence, Tuple

from ...latest import Latest
from ...types import ToolCall
from ..evidence.compared import Asked, Result, asked_of
from ..evidence.fingerprint import call_key, text_fingerprint
from ..evidence.kept_name import kept_id
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
        # By id, round and key, or by their tokens where nothing else is known.
        self._reports: Latest[Hashable, _Report] = Latest(size)
        self._by_fingerprint = False

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
        return "".join(each.token for each in self._reports.values())

    def load(self, text: str) -> None:
        """Take over a state that `to_text` gave."""
        self._by_fingerprint = True
        for at in range(0, len(text), _TOKEN):
            token = text[at : at + _TOKEN]
            self._reports[token] = _Report(token)

    def forget_texts(self) -> None:
        """Keep of the calls no more than `to_text` gives."""
        text = self.to_text()
        self._reports.clear()
        self.load(text)

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
            if asked is None or self._is_new(call, asked):
                new_calls.append(call)
                new_results.append(results[position] if position < len(results) else None)
                all_asked.append(asked)
        return new_calls, new_results, all_asked

    def _is_new(self, call: ToolCall, asked: Asked) -> bool:
        """Whether a call was not reported before; it is remembered."""
        report = _Report("", (call.id, call.round, asked.tool, asked.arguments))
        key: Hashable = call.id, call.round, asked.key
        if self._by_fingerprint or asked.is_long or not _is_short(call):
            key = report.token
        is_new = key not in self._reports
        self._reports[key] = report
        return is_new


class _Report:
    """One report, as a short token that is made when it is first asked for."""

    __slots__ = ("_made_of", "_token")

    def __init__(self, token: str, made_of: Tuple[Any, ...] = ()) -> None:
        self._token = token
        self._made_of = made_of

    @property
    def token(self) -> str:
        """Equal for two reports of one call."""
        if not self._token:
            call_id, round_number, tool, arguments = self._made_of
            text = f"{text_of(call_id)}\x00{text_of(round_number)}\x00{call_key(tool, arguments)}"
            self._token, self._made_of = text_fingerprint(text)[:_TOKEN], ()
        return self._token


def _is_short(call: ToolCall) -> bool:
    """Whether id and round are what they should be, and may be kept."""
    return kept_id(call.id) is not None and isinstance(call.round, (int, type(None)))
