"""From the lines of a recording that is still written to what a detector says about its runs."""

from itertools import islice
from typing import Callable, Iterable, Iterator, List, Optional, Set, Tuple

from ..._latest import Latest
from ...exceptions import NoTrace
from ...formats import History, TextMessage
from ...formats._internal import Moment, moments_of, read_by, step_of, verdict_at
from ...loop_detection import ClientProfile, LoopAction, LoopDetector, LoopMonitor, LoopVerdict
from .._own_clients import NO_OWN, OwnClients
from .._reading import Recognition, good_records
from .._registry import EMPTY, TraceFormat, expected
from .._shared.records import Record, record_of
from .._shared.run_under_way import RUNS_UNDER_WAY, RunUnderWay, TakeRecord, each_by_itself
from .growing_file import GrowingFile

_WORDS = 100
"""The largest number of messages that are kept without a call between them."""
_PATIENCE = 2
"""The number of later rounds to wait for, where a call has no result yet."""


class LiveReplay:
    """Judges the rounds of a run as they are completed; for a finished run it is `replay`.

    A round is complete when each of its calls has a result. If results come late, or never, it is
    judged without them once a later round has its results, two more have begun, the user has spoken
    or the run is over.
    """

    def __init__(
        self, run: RunUnderWay, detector: LoopDetector, clients: OwnClients = NO_OWN
    ) -> None:
        self.run = run
        self._detector, self._clients = detector, clients
        self._client = clients.known(run.client)
        self._tools: Set[str] = set()
        self._monitor = self._begun()
        self.judged = 0
        """The number of calls that are judged."""
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
        before, history = self.judged, self._read(self.run.build(self.judged))
        rounds = list(history.rounds())
        self._has_calls = bool(rounds)
        count = len(rounds) if is_over or self.run.is_over else _complete(history, rounds)
        complete = sum(map(len, rounds[:count]))
        for moment in islice(moments_of(history), self._heard, None):
            if not self._note(moment, before, complete):
                return
            yield step_of(moment, before), verdict_at(self._monitor, history, moment)

    def _read(self, history: History) -> History:
        """Return what came since as the profile of the run's client reads it."""
        if self._clients:
            self._tools.update(call.tool_name for call in history.calls)
        client = self._clients.known(self.run.client, self._tools)
        if client is not self._client:  # the tools that a run uses tell by and by
            state, self._client = self._monitor.snapshot(), client
            self._monitor = self._begun()
            self._monitor.restore(state)
        return read_by(client, history) if isinstance(client, ClientProfile) else history

    def _begun(self) -> LoopMonitor:
        return self._detector.monitor(client=self._client, live=False, can_ask=False)

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


LiveVerdict = Tuple[RunUnderWay, int, LoopVerdict]
"""A run, a step of it, and what is said there."""
OnVerdict = Callable[[RunUnderWay, int, LoopVerdict], None]
"""Called with a run, how many of its calls are judged, and what is said of the last ones."""


class LiveLines:
    """Judges the runs of one recording line by line.

    It depends on the lines alone, not on when they come, and says what `replay` says; only where
    results come late, or never, may it know less: see `LiveReplay`.

    Args:
        on_trouble: called with ``"name:line: what is wrong"`` for each part that is skipped.
        on_verdict: called with every verdict, also those to go on.
    """

    def __init__(
        self,
        name: str,
        detector: LoopDetector,
        source: Optional[str],
        on_trouble: Callable[[str], None],
        on_verdict: Optional[OnVerdict] = None,
        profiles: Iterable[ClientProfile] = (),
    ) -> None:
        self._name = name
        self._detector = detector
        self._clients = OwnClients(profiles)
        self._on_trouble = on_trouble
        self._on_verdict = on_verdict
        self._recognition = Recognition(source)
        self._format: Optional[Tuple[TraceFormat, TakeRecord]] = None
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
        if self._format is not None:
            yield from self._verdicts_in([record], *self._format)
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
        if self._format is None:
            if self._recognition.likely is None:
                raise self._no_trace()
            yield from self._begun(self._recognition.likely)
        for replay in self._replays.values():
            yield from self._judged(replay, is_over=True)

    def _begun(self, named: TraceFormat) -> Iterator[LiveVerdict]:
        """Begin to judge with what was looked at until its format was clear."""
        follow = named.follow or each_by_itself(named.read)
        self._format = named, follow(self._name, self._report)
        waiting, self._recognition.looked_at = self._recognition.looked_at, []
        return self._verdicts_in(waiting, *self._format)

    def _no_trace(self) -> NoTrace:
        if not self._recognition.looked_at:
            return NoTrace(f"{self._name}: {EMPTY}")
        return NoTrace(f"{self._name}: no lines of a recorded run here; expected {expected()}")

    def _verdicts_in(
        self, found: List[Record], named: TraceFormat, take: TakeRecord
    ) -> Iterator[LiveVerdict]:
        for record in good_records(found, named, self._report):
            for run in take(record):
                yield from self._verdicts_on(run)

    def _verdicts_on(self, run: RunUnderWay) -> Iterator[LiveVerdict]:
        replay = self._replays.get(run) or LiveReplay(run, self._detector, self._clients)
        self._replays[run] = replay
        yield from self._judged(replay)
        replay.forget()
        if run.is_over:
            del self._replays[run]

    def _judged(self, replay: LiveReplay, is_over: bool = False) -> Iterator[LiveVerdict]:
        for step, verdict in replay.verdicts(is_over):
            if self._on_verdict is not None:
                self._on_verdict(replay.run, replay.judged, verdict)
            if verdict.action is not LoopAction.CONTINUE:
                yield replay.run, step, verdict

    def _report(self, line: int, what: str) -> None:
        if not what and self._format is not None:
            what = f"expected {self._format[0].expected}"
        self._on_trouble(f"{self._name}:{line}: {what}; skipped")


Begin = Callable[[str], LiveLines]
"""Begins to judge the recording of that name."""


class LiveFile(GrowingFile):
    """A recording in one file; if the file starts again, so does the recording."""

    def __init__(self, path: str, begin: Begin) -> None:
        super().__init__(path)
        self._begin_lines = begin
        self._recording: Optional[LiveLines] = None
        self._recorded_since = 0

    def new_verdicts(self) -> Iterator[LiveVerdict]:
        """Judge what was added since the last time."""
        for number, line in self.new_lines():
            if self._recording is None or self._recorded_since != self.times_begun:
                self._recording = self._begin_lines(self.path)
                self._recorded_since = self.times_begun
            yield from self._recording.take(number, line)

    def end(self) -> Iterator[LiveVerdict]:
        """Yield the remaining verdicts when nothing more comes."""
        if self._recording is not None:
            yield from self._recording.end()
