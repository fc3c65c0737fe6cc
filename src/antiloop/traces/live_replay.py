"""What a detector says about a run while it is recorded."""

from typing import Iterator, List, Tuple

from ..formats import History
from ..loop_detection import LoopAction, LoopDetector, LoopVerdict
from .run_under_way import RunUnderWay

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
        self._monitor = detector.monitor()
        self._monitor.consultation.begin(is_possible=False)
        self._judged = 0

    def verdicts(self, is_over: bool = False) -> Iterator[Tuple[int, LoopVerdict]]:
        """Judge what was completed since the last time.

        Args:
            is_over: whether nothing more comes, whatever the run itself says.

        Yields:
            The index of the last step of a round, counted from 0, and what is said about it.
        """
        before, told = self._judged, self.run.history(self._judged)
        rounds = list(told.rounds())
        count = len(rounds) if is_over or self.run.is_over else _complete(told, rounds)
        start = 0
        for each in rounds[:count]:
            if start in told.turn_starts:
                self._monitor.user_message()
            start += len(each)
            self._judged = before + start
            verdict = self._monitor.after(each.calls, each.results)
            if verdict.action is not LoopAction.CONTINUE:
                yield self._judged - 1, verdict


def _complete(told: History, rounds: List[History]) -> int:
    """Count the rounds that need not wait, all those before them included."""
    count, stop = max(0, len(rounds) - _PATIENCE), 0
    spoken = max(told.turn_starts, default=0)
    for number, each in enumerate(rounds, 1):
        stop += len(each)
        if stop <= spoken or None not in each.results:
            count = max(count, number)
    return count
