"""Which calls were reported already: hooks before and after a call may both report it."""

from typing import Any, Hashable, List, Optional, Sequence, Tuple

from ...latest import Latest
from ...types import ToolCall
from ..evidence.compared import Asked, Result, asked_of
from ..evidence.fingerprint import short_call_fingerprint, text_fingerprint
from ..evidence.kept_name import kept_id
from ..evidence.window import Window
from ..text.canonical import text_of

_TOKEN = 8  # hexadecimal digits that tell the reported calls apart
_LARGE = 1 << 64

New = Tuple[Sequence[ToolCall], Sequence[Result], Sequence[Optional[Asked]]]
"""Calls, their results, and what is known of the calls already, where anything is."""


class Reported:
    """The calls with ids that were reported last.

    Args:
        size: how many there are at most.
    """

    def __init__(self, size: int) -> None:
        # By id, round and key, or by their tokens where nothing else is known.
        self._reports: Latest[Hashable, Optional[_Report]] = Latest(size)
        self._by_fingerprint = False

    def new(
        self,
        calls: Sequence[ToolCall],
        results: Sequence[Result],
        window: Window,
    ) -> New:
        """Leave out calls that were reported before, and remember the others."""
        for call in calls:
            if call.id is not None:
                return self._first_reports(calls, results, window)
        return calls, results, ()

    def to_text(self) -> str:
        """Return the state as one text."""
        reports = self._reports.items()
        return "".join(str(key) if each is None else each.token for key, each in reports)

    def load(self, text: str) -> None:
        """Take over a state that `to_text` gave."""
        self._by_fingerprint = True
        for at in range(0, len(text), _TOKEN):
            self._reports[text[at : at + _TOKEN]] = None

    def forget_texts(self) -> None:
        """Keep of the calls no more than `to_text` gives."""
        text = self.to_text()
        self._reports.clear()
        self.load(text)

    def _first_reports(
        self,
        calls: Sequence[ToolCall],
        results: Sequence[Result],
        window: Window,
    ) -> New:
        new_calls: List[ToolCall] = []
        new_results: List[Result] = []
        all_asked: List[Optional[Asked]] = []
        for position, call in enumerate(calls):
            asked = None
            if call.id is not None:
                asked = asked_of(call, window.policy(call.tool_name), window.remembers)
            if asked is None or self._note(call, asked):
                new_calls.append(call)
                new_results.append(results[position] if position < len(results) else None)
                all_asked.append(asked)
        return new_calls, new_results, all_asked

    def _note(self, call: ToolCall, asked: Asked) -> bool:
        """Remember a report, and return whether it is the first one of its call."""
        call_id, number = text_of(call.id), _text_of_round(call.round)
        report = _Report(call_id, number, asked)
        key: Hashable = call_id, number, asked.call_key
        may_be_kept = kept_id(call_id) is not None and kept_id(number) is not None
        if self._by_fingerprint or asked.is_long or not may_be_kept:
            key = report.token
        is_new = key not in self._reports
        self._reports[key] = report
        return is_new


class _Report:
    """One report, as a short token that is made when it is first asked for."""

    __slots__ = ("_arguments", "_call_id", "_round", "_token", "_tool")

    def __init__(self, call_id: str, number: str, asked: Asked) -> None:
        self._call_id = call_id
        self._round = number
        self._tool = asked.tool
        self._arguments = asked.arguments
        self._token = ""

    @property
    def token(self) -> str:
        """Equal for two reports of one call."""
        if not self._token:
            called = short_call_fingerprint(self._tool, self._arguments)
            text = f"{self._call_id}\x00{self._round}\x00{called}"
            self._token = text_fingerprint(text)[:_TOKEN]
            self._call_id, self._round, self._arguments = "", "", None
        return self._token


def _text_of_round(number: Any) -> str:
    """Return what `text_of` does, much more quickly for what the number of a round should be."""
    if number is None:
        return "null"
    is_usual = type(number) is int and -_LARGE < number < _LARGE
    return str(number) if is_usual else text_of(number)
