"""What a detector says about a run while it is recorded."""

from itertools import islice
from typing import Iterator, List, Tuple

from ...formats import History, TextMessage
from ...formats.moment import Moment, judged, moments_of, step_of
from ...loop_detection import LoopDetector, LoopVerdict
from ..shared.run_under_way import RunUnderWay

_WORDS = 100
"""How many messages without a call between them are kept at most."""
_PATIENCE = 2
"""How many later rounds are waited for where a call has no result yet."""


class LiveReplay:
    """Judges the rounds of a run as they are completed; for a finished run it is `replay`.

    A round is complete when each of its calls has a result. Where results come late, or never,
    it is judged as it stands once a later round has its results, two more have begun, the user
    has spoken or the run is over.
    """

    def __init__(self, run: RunUnderWay, detector: LoopDetector) -> None:
        self.run = run
        self._monitor = detector.monitor(live=False)
        self._monitor.consultation.begin(is_possible=False)
        self.judged = 0
        """How many calls are judged."""
        self._heard = 0
        self._has_calls = False

    def verdicts(self, is_over: bool = False) -> Iterator[Tuple[int, LoopVerdict]]:
        """Judge what was completed since the last time.

        Args:
            is_over: whether nothing more comes, whatever the run itself says.

        Yields:
            The index of the last step of a round, counted from 0, and what is said about it; also
            where that is to go on.
        """
        before, history = self.judged, self.run.history(self.judged)
        rounds = list(history.rounds())
        self._has_calls = bool(rounds)
        count = len(rounds) if is_over or self.run.is_over else _complete(history, rounds)
        complete = sum(map(len, rounds[:count]))
        for moment in islice(moments_of(history), self._heard, None):
            if not self._note(moment, before, complete):
                return
            yield step_of(moment, before), judged(self._monitor, history, moment)

    def forget(self) -> None:
        """Let the run forget what is judged; words that no call follows only when they are many."""
        heard = self._heard if self._heard >= _WORDS and not self._has_calls else 0
        self.run.forget(self.judged, heard)
        self._heard -= heard

    def _note(self, moment: Moment, before: int, complete: int) -> bool:
        """Note how far the run is judged with a moment, and say whether that may be done now."""
        if isinstance(moment, TextMessage):
            self._heard += before + moment.position == self.judged
            return True
        if moment[1] > complete:
            return False
        self.judged, self._heard = before + moment[1], 0
        return True


def _complete(history: History, rounds: List[History]) -> int:
    """Count the rounds that need not wait, all those before them included."""
    count, stop = max(0, len(rounds) - _PATIENCE), 0
    spoken = max(history.turn_starts, default=0)
    for number, each in enumerate(rounds, 1):
        stop += len(each)
        if stop <= spoken or None not in each.results:
            count = max(count, number)
    return count
