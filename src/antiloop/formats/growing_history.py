"""Calls, results and words of a conversation that goes on; its beginning can be forgotten."""

from bisect import bisect_left
from itertools import islice
from typing import Dict, List, Optional, TypeVar

from ..types import Role, ToolCall, ToolResult
from .text_message import TextMessage, without_thoughts

KEPT_IDS = 1_000
"""Ids of a kind that are remembered of a conversation whose beginning is forgotten."""
_AT_ONCE = 8
"""Calls that are forgotten together, so that each costs next to nothing."""
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class GrowingHistory:
    """What was collected of a conversation, without the calls that were forgotten."""

    def __init__(self) -> None:
        self.calls: List[ToolCall] = []
        self.results: List[Optional[ToolResult]] = []
        self.turn_starts: List[int] = []
        """Counted from the first call of all, as the positions of the messages."""
        self.messages: List[TextMessage] = []
        self.forgotten = 0
        """How many calls came before those that are here."""

    def __len__(self) -> int:
        """Count all calls so far."""
        return self.forgotten + len(self.calls)

    def add(self, call: ToolCall) -> None:
        """Add a call; its result is not known yet."""
        self.calls.append(call)
        self.results.append(None)

    def answer(self, index: int, result: Optional[ToolResult]) -> None:
        """Set the result of a call, if the call is still here."""
        if index >= self.forgotten:
            self.results[index - self.forgotten] = result

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
        start = len(self.calls) - 1
        latest = self.calls[-1].round if self.calls else None
        while latest is not None and start > 0 and self.calls[start - 1].round == latest:
            start -= 1
        return max(0, start)


def keep_latest(known: Dict[_Key, _Value]) -> None:
    """Remove the oldest entries of a dictionary beyond `KEPT_IDS`."""
    for key in list(islice(known, max(0, len(known) - KEPT_IDS))):
        del known[key]
