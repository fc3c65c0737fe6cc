"""From the lines of a recording that is still written to what a detector says about its runs."""

from typing import Callable, Iterator, List, Optional, Tuple

from ...exceptions import NoTrace
from ...latest import Latest
from ...loop_detection import LoopAction, LoopDetector, LoopVerdict
from ..reading import good_records
from ..recognition import Recognition
from ..registry import EMPTY, TraceFormat, expected
from ..shared.records import Record, record_of
from ..shared.run_under_way import RUNS_UNDER_WAY, RunUnderWay, TakeRecord, each_by_itself
from .live_replay import LiveReplay

LiveVerdict = Tuple[RunUnderWay, int, LoopVerdict]
"""A run, a step of it, and what is said there."""
OnVerdict = Callable[[RunUnderWay, int, LoopVerdict], None]
"""Called with a run, how many of its calls are judged, and what is said of the last ones."""


def _unheard(run: RunUnderWay, judged: int, verdict: LoopVerdict) -> None:
    """Listen to nothing."""


class LiveLines:
    """Judges the runs of one recording line by line.

    It depends on the lines alone, not on when they come, and says what `replay` says; only where
    results come late, or never, may it know less: see `LiveReplay`.

    Args:
        name: what the recording is called.
        detector: judges the runs.
        source: a name in ``FORMATS``, to overrule recognition.
        on_trouble: called with ``"name:line: what is wrong"`` for each part that is skipped.
        on_verdict: called with every verdict, also those to go on.
    """

    def __init__(
        self,
        name: str,
        detector: LoopDetector,
        source: Optional[str],
        on_trouble: Callable[[str], None],
        on_verdict: OnVerdict = _unheard,
    ) -> None:
        self._name = name
        self._detector = detector
        self._on_trouble = on_trouble
        self._on_verdict = on_verdict
        self._recognition = Recognition(source)
        self._known: Optional[Tuple[TraceFormat, TakeRecord]] = None
        self._replays: Latest[RunUnderWay, LiveReplay] = Latest(RUNS_UNDER_WAY)

    def take(self, number: int, line: str) -> Iterator[LiveVerdict]:
        """Take the next line, and yield what is to be said now.

        Raises:
            NoTrace: if the first 100 lines hold no recorded run.
            TraceUnreadable: if the format is one that cannot be judged line by line.
        """
        if not line or line.isspace():
            return
        record = record_of(number, line)
        if self._known is not None:
            yield from self._said_after([record], *self._known)
            return
        named = self._recognition.look(record)
        if named is not None:
            yield from self._begun(named)
        elif self._recognition.is_enough:
            raise self._no_trace()

    def end(self) -> Iterator[LiveVerdict]:
        """Yield the remaining verdicts when no more lines come.

        Raises:
            NoTrace: if none of them holds a recorded run.
        """
        if self._known is None:
            if self._recognition.likely is None:
                raise self._no_trace()
            yield from self._begun(self._recognition.likely)
        for replay in self._replays.values():
            yield from self._judged(replay, is_over=True)

    def _begun(self, named: TraceFormat) -> Iterator[LiveVerdict]:
        """Begin to judge with what was looked at until its format was clear."""
        follow = named.follow or each_by_itself(named.read)
        self._known = named, follow(self._name, self._report)
        waiting, self._recognition.looked_at = self._recognition.looked_at, []
        return self._said_after(waiting, *self._known)

    def _no_trace(self) -> NoTrace:
        if not self._recognition.looked_at:
            return NoTrace(f"{self._name}: {EMPTY}")
        return NoTrace(f"{self._name}: no lines of a recorded run here; expected {expected()}")

    def _said_after(
        self, found: List[Record], named: TraceFormat, take: TakeRecord
    ) -> Iterator[LiveVerdict]:
        for record in good_records(found, named, self._report):
            for run in take(record):
                yield from self._said_of(run)

    def _said_of(self, run: RunUnderWay) -> Iterator[LiveVerdict]:
        replay = self._replays.get(run) or LiveReplay(run, self._detector)
        self._replays[run] = replay
        yield from self._judged(replay)
        replay.forget()
        if run.is_over:
            del self._replays[run]

    def _judged(self, replay: LiveReplay, is_over: bool = False) -> Iterator[LiveVerdict]:
        for step, verdict in replay.verdicts(is_over):
            self._on_verdict(replay.run, replay.judged, verdict)
            if verdict.action is not LoopAction.CONTINUE:
                yield replay.run, step, verdict

    def _report(self, line: int, what: str) -> None:
        self._on_trouble(f"{self._name}:{line}: {what}; skipped")
