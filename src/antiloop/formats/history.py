"""What every format is read into: the tool calls of a conversation and what came back."""

import re
from bisect import bisect_left
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from ..loop_detection.messages import NOTICE_MARKER
from ..short_repr import repr_of_fields
from ..stability import beta
from ..types import Role, ToolCall, ToolResult
from .growing_history import GrowingHistory, keep_latest
from .text_message import TextMessage, without_thoughts
from .unrecorded import unlike_others

# Where an API takes no system message in a conversation, a tag tells the model who speaks.
_NOTICE = re.compile(r"\s*(?:<system-(?:notice|reminder)>\s*)?" + re.escape(NOTICE_MARKER))


@beta
@dataclass(frozen=True)
class History:
    """The tool calls of one conversation, oldest first, each with its result.

    The same shape serves a recorded conversation and a live one: in a live one the last calls
    have no result yet.
    """

    calls: Tuple[ToolCall, ...] = ()
    """Calls of one model reply share a round."""
    results: Tuple[Optional[ToolResult], ...] = ()
    """As long as ``calls``; None where no result is known."""
    turn_starts: Tuple[int, ...] = ()
    """For each user message: how many calls came before it."""
    messages: Tuple[TextMessage, ...] = ()
    """What the model and the user said, and what the model thought, oldest first."""

    __repr__ = repr_of_fields

    @classmethod
    def since(
        cls,
        first: int,
        calls: Sequence[ToolCall],
        results: Sequence[Optional[ToolResult]],
        turn_starts: Sequence[int],
        messages: Sequence[TextMessage] = (),
        forgotten: int = 0,
    ) -> "History":
        """Make a history without its first calls; what was said before them is left out too.

        Args:
            first: the first call that is in it.
            calls: those that are known.
            results: of these calls.
            turn_starts: as all positions, counted from the first call of the conversation.
            messages: what was said.
            forgotten: how many calls came before ``calls``.
        """
        start = max(0, first - forgotten)
        turns = turn_starts[bisect_left(turn_starts, first) :]
        later = (each for each in messages if each.position >= first)
        return cls(
            tuple(calls[start:]),
            tuple(results[start:]),
            tuple(start - first for start in turns),
            tuple(replace(each, position=each.position - first) for each in later),
        )

    @classmethod
    def of_growing(cls, growing: GrowingHistory, since: int) -> "History":
        """Make a history of a conversation that goes on, without its first calls."""
        return cls.since(
            since,
            growing.calls,
            growing.results,
            growing.turn_starts,
            growing.messages,
            growing.forgotten,
        )

    def __len__(self) -> int:
        return len(self.calls)

    def rounds(self) -> "Iterator[History]":
        """Yield each round as a separate history."""
        for start, stop in rounds_of(self.calls):
            yield History(self.calls[start:stop], self.results[start:stop])

    def replies(self) -> "Iterator[History]":
        """Yield each round with what was said since the previous one, as a separate history.

        What the model said after all rounds comes last, without calls. Thoughts are left out.
        """
        waiting = without_thoughts(reversed(self.messages))
        for start, stop in rounds_of(self.calls):
            said = []
            while waiting and waiting[-1].position <= start:
                said.append(replace(waiting.pop(), position=0))
            yield History(self.calls[start:stop], self.results[start:stop], (), tuple(said))
        if any(each.role is Role.ASSISTANT for each in waiting):
            yield History(messages=tuple(replace(each, position=0) for each in reversed(waiting)))

    def until(self, count: int) -> "History":
        """Return only the first calls, and what was said before the next."""
        turns = tuple(start for start in self.turn_starts if start <= count)
        messages = tuple(each for each in self.messages if each.position <= count)
        return History(self.calls[:count], self.results[:count], turns, messages)

    def last_turn(self) -> "History":
        """Return only what came after the last user message."""
        start = self.turn_starts[-1] if self.turn_starts else 0
        since = takewhile(lambda each: each.role is not Role.USER, reversed(self.messages))
        later = [
            replace(each, position=each.position - start)
            for each in since
            if each.position >= start
        ]
        return History(self.calls[start:], self.results[start:], (), tuple(reversed(later)))

    def last_round(self) -> "History":
        """Return only the last round, without messages; empty if there are no calls."""
        *_, (start, stop) = ((0, 0), *rounds_of(self.calls))
        return History(self.calls[start:stop], self.results[start:stop])


@beta
def rounds_of(calls: Sequence[ToolCall]) -> Iterator[Tuple[int, int]]:
    """Yield where each round starts and where it stops, as for a slice.

    Neighbors with the same ``round`` belong together; ``None`` is a separate round.

    >>> list(rounds_of([ToolCall("a", round=0), ToolCall("b", round=0), ToolCall("c")]))
    [(0, 2), (2, 3)]
    """
    start = 0
    for index in range(1, len(calls) + 1):
        if index == len(calls) or not _are_siblings(calls[start], calls[index]):
            yield start, index
            start = index


def _are_siblings(one: ToolCall, other: ToolCall) -> bool:
    return one.round is not None and one.round == other.round


def round_of_unseen(calls: Sequence[ToolCall], turn_starts: Sequence[int]) -> int:
    """Return the round of a call of which only the result is there.

    It is the latest one: nothing says that there was a further one, unless the user spoke. Then it
    is the number after, which no reply has where messages are counted.
    """
    count = len(calls)
    latest = calls[-1].round if count else None
    return -1 if latest is None else latest + (count in turn_starts[-1:])


class HistoryBuilder:
    """Collect calls and results in the order of the messages, and pair them.

    Ids join a result to its call. They are not trusted further than that: some providers leave
    them out, some use them again, so a result goes to the *latest* unanswered call that it fits,
    and among parallel calls to the first. A result whose call was never seen, as in a conversation
    that was cut, makes a call of which only that is known; a further answer to a call is dropped.

    Args:
        last_answer_counts: take a further answer to a call in place of the one before.
    """

    def __init__(self, *, last_answer_counts: bool = False) -> None:
        self._last_answer_counts = last_answer_counts
        self._history = GrowingHistory()
        self._calls, self._results = self._history.calls, self._history.results
        self._turn_starts = self._history.turn_starts
        self._open: Dict[Optional[str], List[int]] = {}
        self._answered: Dict[Optional[str], int] = {}

    def add_call(
        self,
        tool_name: str,
        arguments: Union[Mapping[str, object], str, None],
        call_id: Optional[str],
        round: int,  # noqa: A002 - the word for it everywhere in this library
    ) -> None:
        """Add one call of the model reply ``round``."""
        self._open.setdefault(call_id, []).append(len(self._calls))
        self._history.add(ToolCall(tool_name, arguments, call_id, round))

    def add_result(
        self, result: ToolResult, call_id: Optional[str], tool_name: Optional[str] = None
    ) -> None:
        """Add one result; ``tool_name`` helps where the message names the tool, not the call."""
        if not self.answer(result, call_id, tool_name) and self._is_unseen(call_id, tool_name):
            self._add_unseen(call_id, tool_name or "")
            self.answer(result, call_id, tool_name)

    def answer(
        self, result: ToolResult, call_id: Optional[str], tool_name: Optional[str] = None
    ) -> bool:
        """Add one result if a call waits for it, and say whether one did."""
        index = self._first_of_latest_round(call_id) if call_id else None
        if index is None:
            index = self._loose_match(call_id, tool_name)
        if index is not None:
            self._open[self._calls[index].id].remove(index)
        elif self._last_answer_counts:
            index = self._answered.get(call_id)
        if index is None:
            return False
        self._results[index] = result
        if call_id:
            self._answered[call_id] = index
        return True

    def add_user_message(self, *texts: str) -> None:
        """Note that the user spoke here, unless all ``texts`` are antiloop's own."""
        is_users = not all(map(_NOTICE.match, texts))
        if is_users:
            self._turn_starts.append(len(self))
        self._add_message(Role.USER if is_users else Role.SYSTEM, "\n".join(texts))

    def add_reply(self, *texts: str, position: Optional[int] = None) -> None:
        """Note what the model said, before the calls of the same reply.

        Args:
            texts: what it said.
            position: number of calls before it; by default all added calls.
        """
        self._add_message(Role.ASSISTANT, "\n".join(texts), position)

    def add_thoughts(self, *texts: str, position: Optional[int] = None) -> None:
        """Note what the model thought before its reply; the arguments are those of `add_reply`."""
        self._add_message(Role.ASSISTANT, "\n".join(texts), position, is_thought=True)

    def _add_message(
        self, role: Role, text: str, position: Optional[int] = None, *, is_thought: bool = False
    ) -> None:
        if text and not text.isspace():
            before = len(self) if position is None else position
            self._history.messages.append(TextMessage(role, text, before, is_thought))

    def __len__(self) -> int:
        """Count the calls so far."""
        return len(self._history)

    def build(self, since: int = 0) -> History:
        """Return what was collected so far, without the first ``since`` calls."""
        return History.of_growing(self._history, since)

    def forget(self, before: int, heard: int = 0) -> None:
        """Remove calls before a step, now or later, and old ids; steps keep their numbers."""
        count = self._history.forget(before, heard)
        if count:
            keep_latest(self._open)
            keep_latest(self._answered)
            for waiting in self._open.values():
                waiting[:] = [index - count for index in waiting if index >= count]
            self._answered = {
                call_id: index - count
                for call_id, index in self._answered.items()
                if index >= count
            }

    def _is_unseen(self, call_id: Optional[str], tool_name: Optional[str]) -> bool:
        """Whether a result is of a call that did not stand here, and no second answer to one."""
        if call_id:
            return call_id not in self._open
        latest = takewhile(lambda call: call.round == self._calls[-1].round, self._calls[::-1])
        return tool_name is not None and all(call.tool_name != tool_name for call in latest)

    def _add_unseen(self, call_id: Optional[str], tool_name: str) -> None:
        place = f"call {call_id}" if call_id else f"step {len(self)}"
        call = unlike_others(ToolCall(tool_name), place)
        has_turn = len(self) in self._turn_starts[-1:]
        round_ = round_of_unseen(self._calls, [len(self._calls)] * has_turn)
        self.add_call(call.tool_name, call.arguments, call_id, round_)

    def _first_of_latest_round(self, call_id: str) -> Optional[int]:
        waiting = self._open.get(call_id)
        if not waiting:
            return None
        if len(waiting) == 1:
            return waiting[0]
        latest = self._calls[waiting[-1]].round
        return next(index for index in waiting if self._calls[index].round == latest)

    def _loose_match(self, call_id: Optional[str], tool_name: Optional[str]) -> Optional[int]:
        """Match where one side has no id: only in the latest round, by name or by order."""
        found = None
        for index in range(len(self._calls) - 1, -1, -1):
            call = self._calls[index]
            if call.round != self._calls[-1].round:
                break
            if self._results[index] is not None or (call_id and call.id):
                continue
            if tool_name in (None, call.tool_name):
                found = index
        return found
