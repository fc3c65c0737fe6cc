"""A conversation as collected so far, whose beginning can be forgotten."""

from bisect import bisect_left
from itertools import islice
from typing import Dict, List, Optional, TypeVar

from ..types import Role, ToolCall, ToolResult
from ._history import History, TextMessage, rounds_of, without_thoughts

KEPT_IDS = 1_000
"""Ids of a kind that are remembered of a conversation whose beginning is forgotten."""
_AT_ONCE = 8
"""Calls that are forgotten together, so that each costs next to nothing."""
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class GrowingHistory:
    """A conversation as collected so far, without the calls that were forgotten."""

    client: Optional[str] = None
    """The name of the client's profile, where it is known."""

    def __init__(self) -> None:
        self.calls: List[ToolCall] = []
        self.results: List[Optional[ToolResult]] = []
        self.turn_starts: List[int] = []
        """Counted from the first call of all, as the positions of the messages."""
        self.messages: List[TextMessage] = []
        self.forgotten: int = 0
        """The number of calls before those that are here."""

    def __len__(self) -> int:
        """Count all calls so far."""
        return self.forgotten + len(self.calls)

    def add(self, call: ToolCall, result: Optional[ToolResult] = None) -> None:
        """Add a call, and its result if that is known."""
        self.calls.append(call)
        self.results.append(result)

    def set_result(self, index: int, result: Optional[ToolResult]) -> None:
        """Set the result of a call, if the call is still here."""
        if index >= self.forgotten:
            self.results[index - self.forgotten] = result

    def _add_message(
        self, role: Role, text: str, position: Optional[int] = None, *, is_thought: bool = False
    ) -> None:
        """Add what was said, if anything was, after so many calls; by default after all."""
        if text and not text.isspace():
            before = len(self) if position is None else position
            self.messages.append(TextMessage(role, text, before, is_thought))

    def build(self, since: int = 0) -> History:
        """Return what was collected so far, without the first ``since`` calls."""
        known = (self.calls, self.results, self.turn_starts, self.messages)
        return History.since(since, *known, self.forgotten)

    def forget(self, before: int, heard: int = 0) -> int:
        """Remove what came before a step, now or later, and all thoughts.

        Args:
            before: a step; what begins there, and the latest round, are kept.
            heard: how many messages at this step are removed too, thoughts not counted, with a
                turn of the user there.

        Returns:
            How many calls were removed now.
        """
        self.messages[:] = without_thoughts(self.messages)
        if heard:
            self._forget_words(before, heard)
        if before - self.forgotten < _AT_ONCE:
            return 0
        count = min(before - self.forgotten, self._latest_round())
        del self.calls[:count], self.results[:count]
        self.forgotten += count
        first = self.forgotten
        self.turn_starts[:] = [each for each in self.turn_starts if each >= first]
        self.messages[:] = [each for each in self.messages if each.position >= first]
        return count

    def _forget_words(self, step: int, count: int) -> None:
        """Remove the first messages at a step, and those before it."""
        start = bisect_left([each.position for each in self.messages], step)
        removed = self.messages[start : start + count]
        del self.messages[: start + count]
        if any(each.role is Role.USER for each in removed):
            self.turn_starts[:] = [each for each in self.turn_starts if each != step]

    def _latest_round(self) -> int:
        """Find the place where the latest round begins."""
        *_, (start, _) = ((0, 0), *rounds_of(self.calls))
        return start


def keep_latest(known: Dict[_Key, _Value]) -> None:
    """Remove the oldest entries of a dictionary beyond `KEPT_IDS`."""
    for key in list(islice(known, max(0, len(known) - KEPT_IDS))):
        del known[key]
