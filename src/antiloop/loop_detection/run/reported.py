"""Which calls were reported already: hooks before and after a call may both report it."""

from typing import Any, Callable, Hashable, List, Optional, Sequence, Tuple

from ...latest import Latest
from ...types import ToolCall
from ..evidence.compared import Asked, Result, asked_of
from ..evidence.fingerprint import short_call_fingerprint, text_fingerprint
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
        self._reports: Latest[Hashable, Optional[_Report]] = Latest(size)
        self._by_fingerprint = False

    def new(
        self,
        calls: Sequence[ToolCall],
        results: Sequence[Result],
        policy_of: Callable[[Any], ToolPolicy],
    ) -> New:
        """Leave out calls that were reported before, and remember the others."""
        for call in calls:
            if call.id is not None:
                return self._first_reports(calls, results, policy_of)
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
        policy_of: Callable[[Any], ToolPolicy],
    ) -> New:
        new_calls: List[ToolCall] = []
        new_results: List[Result] = []
        all_asked: List[Optional[Asked]] = []
        for position, call in enumerate(calls):
            asked = None if call.id is None else asked_of(call, policy_of(call.tool_name))
            if asked is None or self._note(call, asked):
                new_calls.append(call)
                new_results.append(results[position] if position < len(results) else None)
                all_asked.append(asked)
        return new_calls, new_results, all_asked

    def _note(self, call: ToolCall, asked: Asked) -> bool:
        """Remember a report, and return whether it is the first one of its call."""
        report = _Report(call, asked)
        key: Hashable = call.id, call.round, asked.call_key
        if self._by_fingerprint or asked.is_long or not _may_be_kept(call):
            key = report.token
        is_new = key not in self._reports
        self._reports[key] = report
        return is_new


class _Report:
    """One report, as a short token that is made when it is first asked for."""

    __slots__ = ("_arguments", "_call_id", "_round", "_token", "_tool")

    def __init__(self, call: ToolCall, asked: Asked) -> None:
        self._call_id: Any = call.id
        self._round: Any = call.round
        self._tool = asked.tool
        self._arguments = asked.arguments
        self._token = ""

    @property
    def token(self) -> str:
        """Equal for two reports of one call."""
        if not self._token:
            called = short_call_fingerprint(self._tool, self._arguments)
            text = f"{text_of(self._call_id)}\x00{text_of(self._round)}\x00{called}"
            self._token = text_fingerprint(text)[:_TOKEN]
            self._call_id = self._round = self._arguments = None
        return self._token


def _may_be_kept(call: ToolCall) -> bool:
    """Whether id and round are of the right type, and short."""
    return kept_id(call.id) is not None and isinstance(call.round, (int, type(None)))
