"""The result of reading any format: the tool calls of a conversation and what came back."""

from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import Container, Iterable, Iterator, List, Optional, Sequence, Tuple

from .._short_repr import Shown
from ..stability import beta
from ..types import Role, ToolCall, ToolResult


@beta
@dataclass(frozen=True, repr=False)
class TextMessage(Shown):
    """One text of a conversation, and where it stands among the calls."""

    role: Role
    """The speaker: the model is the assistant; a notice, or a client's text, is of the system."""
    text: str
    """The whole of it."""
    position: int = 0
    """The number of calls before it in the run; calls of the same reply come after it."""
    is_thought: bool = False
    """Whether it is what the model thought before its reply; thoughts are never judged."""
    is_summary: bool = False
    """Whether the context was cut down here: the model no longer sees what came before."""


def without_thoughts(messages: Iterable[TextMessage]) -> List[TextMessage]:
    """Return what was said, which is all that is judged."""
    return [each for each in messages if not each.is_thought]


@beta
@dataclass(frozen=True, repr=False)
class History(Shown):
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
    """The words of the model and the user, and the model's thoughts, oldest first."""

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

    def __len__(self) -> int:
        return len(self.calls)

    def rounds(self) -> "Iterator[History]":
        """Yield each round as a separate history."""
        for start, stop in rounds_of(self.calls):
            yield History(self.calls[start:stop], self.results[start:stop])

    def replies(self) -> "Iterator[History]":
        """Yield each round with what was said since the previous one, as a separate history.

        The first round of a turn begins one there, too. What the model said after all rounds comes
        last, without calls, and so does a turn in which it has not acted yet. Thoughts are left
        out, and words of the user in the middle of a round, which begin no turn.
        """
        spoken, waiting = set(self.turn_starts), without_thoughts(reversed(self.messages))
        for start, stop in rounds_of(self.calls):
            said = []
            while waiting and waiting[-1].position <= start:
                said.append(waiting.pop())
            turns, words = _said_at(start, said, spoken)
            yield History(self.calls[start:stop], self.results[start:stop], turns, words)
        turns, words = _said_at(len(self), waiting[::-1], spoken)
        if turns or any(each.role is Role.ASSISTANT for each in words):
            yield History((), (), turns, words)

    def until(self, count: int) -> "History":
        """Return only the first calls, and what was said before the next."""
        turns = tuple(start for start in self.turn_starts if start <= count)
        messages = tuple(each for each in self.messages if each.position <= count)
        return History(self.calls[:count], self.results[:count], turns, messages)

    def last_turn(self) -> "History":
        """Return only the last user message and what came after it."""
        start = self.turn_starts[-1] if self.turn_starts else 0
        spoken = (at for at, each in enumerate(self.messages) if each.role is Role.USER)
        *_, first = (0, *spoken)
        later = tuple(
            replace(each, position=each.position - start)
            for each in self.messages[first:]
            if each.position >= start
        )
        return History(self.calls[start:], self.results[start:], (), later)

    def last_round(self) -> "History":
        """Return only the last round, without messages; empty if there are no calls."""
        *_, (start, stop) = ((0, 0), *rounds_of(self.calls))
        return History(self.calls[start:stop], self.results[start:stop])


def _said_at(
    step: int, said: Iterable[TextMessage], spoken: Container[int]
) -> Tuple[Tuple[int, ...], Tuple[TextMessage, ...]]:
    """Return whether a turn begins at a step, as its ``turn_starts``, and what was said there."""
    heard = (each for each in said if each.role is not Role.USER or each.position == step)
    turns = (0,) if step in spoken else ()
    return turns, tuple(replace(each, position=0) for each in heard)


@beta
def rounds_of(calls: Sequence[ToolCall]) -> Iterator[Tuple[int, int]]:
    """Yield where each round starts and where it stops, as for a slice.

    Neighbors with the same ``round`` belong together; ``None`` is a separate round.

    >>> list(rounds_of([ToolCall("a", round=0), ToolCall("b", round=0), ToolCall("c")]))
    [(0, 2), (2, 3)]
    """
    start = 0
    for index in range(1, len(calls) + 1):
        first = calls[start].round
        if index == len(calls) or first is None or first != calls[index].round:
            yield start, index
            start = index


def round_of_unseen(calls: Sequence[ToolCall], turn_starts: Sequence[int]) -> int:
    """Return the round of a call of which only the result is there.

    It is the latest one: nothing says that there was a further one, unless the user spoke. Then it
    is the number after, which no reply has where messages are counted.
    """
    count = len(calls)
    latest = calls[-1].round if count else None
    return -1 if latest is None else latest + (count in turn_starts[-1:])


_NOT_RECORDED = "not recorded"


def unlike_others(call: ToolCall, place: str) -> ToolCall:
    """Return a call without known arguments with unique ones.

    It then equals no other call. If the tool is unknown too, it also gets a unique name.

    Args:
        call: what is known of it.
        place: what tells it from all others of its run, such as ``call c1``.

    >>> unique = unlike_others(ToolCall("", id="c1"), "call c1")
    >>> unique.tool_name, unique.arguments
    ('(not recorded, call c1)', {'call c1': 'not recorded'})
    """
    name = call.tool_name or f"({_NOT_RECORDED}, {place})"
    # The place is a key, as in values what looks like a random id is taken for noise.
    return replace(call, tool_name=name, arguments={place: _NOT_RECORDED})


def made_unique(call: ToolCall, step: int) -> ToolCall:
    """Return a call as it is, unless neither its tool nor its arguments are known.

    >>> made_unique(ToolCall("ls", None), 7).arguments, made_unique(ToolCall("", None), 7).arguments
    (None, {'step 7': 'not recorded'})
    """
    is_known = call.tool_name or call.arguments is not None
    return call if is_known else unlike_others(call, f"step {step}")


def is_made_unique(call: ToolCall) -> bool:
    """Whether neither the tool nor the arguments of a call are known, so that it was made unique.

    >>> is_made_unique(made_unique(ToolCall("", None), 7)), is_made_unique(ToolCall("ls"))
    (True, False)
    """
    return call.tool_name.startswith(f"({_NOT_RECORDED}, step ")
