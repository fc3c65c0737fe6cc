"""The rounds of a session that Claude Code has not written to the transcript yet.

The transcript is written a moment late. If replies come faster, the last rounds or the words of the
user are missing from it. A guard that lives as long as the session adds them: rounds that events
reported come after all that is written, and are dropped once they are written, too.
"""

from dataclasses import replace
from typing import Iterable, List, Optional, Sequence, Tuple

from ...formats import History
from ...types import ToolCall, ToolResult

Answers = Sequence[Tuple[ToolCall, ToolResult]]

_MOST = 50
_FIRST = -2  # rounds of a transcript count from 0, and the one that has just run is -1


class LateRounds:
    """The rounds of one transcript that are perhaps not written yet."""

    def __init__(self) -> None:
        self._rounds: List[Answers] = []
        self._before_turn: Optional[str] = None

    def add(self, answers: Answers) -> None:
        """Note a round that has run."""
        self._rounds = [*self._rounds[1 - _MOST :], answers]

    def user_message(self, history: History) -> None:
        """Note that the user has spoken after all that is written, and what events said besides."""
        # Of a session that is taken up again, no event has told anything yet.
        calls = self.completed(history).calls
        self._before_turn = calls[-1].id if calls else None

    def completed(self, history: History) -> History:
        """Return what is written, with what events said besides at its end."""
        written = {call.id for call in settled(history).calls}
        # Rounds are written in their order, so all before a written one are written as well.
        for place in range(len(self._rounds) - 1, -1, -1):
            if all(call.id in written for call, _ in self._rounds[place]):
                del self._rounds[: place + 1]
                break
        late = [call.id for each in self._rounds for call, _ in each]
        # A round may be written in part; it is taken from the events as a whole.
        past = settled(without(late, history)) if late else history
        return self._with_turn(self._with_rounds(past))

    def _with_rounds(self, past: History) -> History:
        known = [
            (replace(call, round=_FIRST - number), result)
            for number, each in enumerate(self._rounds)
            for call, result in each
        ]
        calls, results = (call for call, _ in known), (result for _, result in known)
        return replace(past, calls=(*past.calls, *calls), results=(*past.results, *results))

    def _with_turn(self, history: History) -> History:
        """Return a history in which the user has spoken, if that is not written yet."""
        ids = [call.id for call in history.calls]
        if self._before_turn is None or self._before_turn not in ids:
            return history
        start = len(ids) - ids[::-1].index(self._before_turn)
        if any(each >= start for each in history.turn_starts):
            return history
        return replace(history, turn_starts=(*history.turn_starts, start))


def settled(history: History) -> History:
    """Return a history without the last calls, as long as their results are not written yet.

    The transcript is written a moment late. To judge without the result that is missing could take
    progress for a loop.
    """
    count = len(history)
    while count and history.results[count - 1] is None:
        count -= 1
    return history.until(count)


def without(ids: Iterable[Optional[str]], history: History) -> History:
    """Return a history without some calls; of what was said, summaries are kept."""
    left_out = set(ids)
    kept = [index for index, call in enumerate(history.calls) if call.id not in left_out]
    starts = tuple(sum(index < start for index in kept) for start in history.turn_starts)
    summaries = (each for each in history.messages if each.is_summary)
    return History(
        tuple(history.calls[index] for index in kept),
        tuple(history.results[index] for index in kept),
        starts,
        tuple(
            replace(each, position=sum(index < each.position for index in kept))
            for each in summaries
        ),
    )
