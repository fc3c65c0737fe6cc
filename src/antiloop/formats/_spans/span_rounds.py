"""Rounds of spans: the calls of tools that belong to one reply of a model."""

from collections import deque
from dataclasses import dataclass
from typing import Deque, List, Optional, Sequence, Tuple

from ..._latest import Latest
from ...types import ToolCall
from .agent_span import AgentSpan

_REPLIES_REMEMBERED = 8
_PARENTS_REMEMBERED = 1_000
Placed = Tuple[int, AgentSpan, Optional[ToolCall]]


def in_rounds(ordered: Sequence[AgentSpan]) -> List[Placed]:
    """Return the spans with their rounds and what the model asked for, a round's spans together.

    Args:
        ordered: the spans of one run by the time at which they began.
    """
    rounds = SpanRounds()
    # Sorting keeps the order in time within a round.
    return sorted((rounds.place(one) for one in ordered), key=lambda item: item[0])


class SpanRounds:
    """Find the round of one span after another, in the order in which they began, or ended.

    Calls that a recorded reply asks for are one round. If replies are not recorded, the calls of
    one parent that lie between two replies, or that overlap, are one.
    """

    def __init__(self) -> None:
        self._count = 0
        self._families: Latest[Tuple[str, str], _Family] = Latest(_PARENTS_REMEMBERED)
        self._replies: Deque[Tuple[int, List[ToolCall]]] = deque(maxlen=_REPLIES_REMEMBERED)

    def place(self, one: AgentSpan) -> Placed:
        """Return the next span with its round, and for a tool with what the model asked of it."""
        index, self._count = self._count, self._count + 1
        round_ = self._family(one).round_of(one, index)
        reply, asked = _take_request(self._replies, one.call)
        if one.requests:
            self._replies.append((index, list(one.requests)))
        return round_ if reply is None else reply, one, asked

    def _family(self, one: AgentSpan) -> "_Family":
        parent = one.span.trace_id, one.span.parent_id
        self._families[parent] = family = self._families.get(parent) or _Family()
        return family


@dataclass
class _Family:
    """The spans of one parent, as far as they have come."""

    has_model: bool = False
    round: Optional[int] = None
    end_ns: int = 0

    def round_of(self, one: AgentSpan, index: int) -> int:
        """Return the round of the next span; a round has the number of its first span."""
        if one.kind != "tool":
            self.has_model = self.has_model or one.kind == "model"
            self.round = None
            return index
        if self.round is None or not (self.has_model or one.span.start_ns < self.end_ns):
            self.round = index
        self.end_ns = max(self.end_ns, one.span.end_ns)
        return self.round


def _take_request(
    replies: Deque[Tuple[int, List[ToolCall]]], call: Optional[ToolCall]
) -> Tuple[Optional[int], Optional[ToolCall]]:
    """Find what a model asked for that fits a call, the latest reply first."""
    if call is None:
        return None, None
    for reply, requests in reversed(replies):
        for index, asked in enumerate(requests):
            if _fits(asked, call):
                return reply, requests.pop(index)
    return None, None


def _fits(asked: ToolCall, call: ToolCall) -> bool:
    if asked.id and call.id:
        return asked.id == call.id
    return asked.tool_name == call.tool_name
