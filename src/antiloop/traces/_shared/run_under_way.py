"""Runs of which more may come."""

from typing import Any, Callable, Iterable, Iterator, Protocol

from ...exceptions import TraceUnreadable
from ...formats import History
from .._recorded_run import Client, RecordedRun
from .records import OnTrouble, Record


class RunUnderWay(Protocol):
    """A run that grows with each record that is read of it; its names are those of the run."""

    @property
    def run_id(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def client(self) -> Client: ...
    @property
    def is_over(self) -> bool: ...

    def build(self, since: int) -> History:
        """Return what is known by now, without the first ``since`` calls."""
        ...

    def forget(self, before: int, heard: int = 0) -> object:
        """Remove what came before a step, now or later; `build` is not asked for it.

        Args:
            before: the step.
            heard: how many of the messages at this step are removed too.
        """
        ...


RUNS_UNDER_WAY = 1_000
"""Runs of one file that are followed at a time; the one that was quiet for longest starts again."""
TakeRecord = Callable[[Record], Iterable[RunUnderWay]]
"""Takes the next record of a file and gives the runs that it belongs to."""
Follow = Callable[[str, OnTrouble], TakeRecord]
"""Begins to read a file record by record, given its name; see `TraceFormat.follow`."""
Read = Callable[[Iterable[Record], str, OnTrouble], Iterator[RecordedRun]]
"""Yields the runs of a file, given its records and its name; see `TraceFormat.read`."""


class WholeRun:
    """A run that came as a whole, seen as one under way."""

    is_over = True

    def __init__(self, run: RecordedRun) -> None:
        self.run_id = run.run_id
        self.source = run.source
        self.client = run.client
        self._run = run

    def build(self, since: int) -> History:
        """Return the run without the first ``since`` calls."""
        run = self._run
        return History.since(since, run.calls, run.results, run.turn_starts, run.messages)

    def forget(self, before: int, heard: int = 0) -> None:
        """Keep all: the run is over."""


def not_by_record(name: str, on_trouble: OnTrouble) -> TakeRecord:  # noqa: ARG001 - a `Follow`
    """Refuse a format whose records come in any order, or are written again."""
    raise TraceUnreadable(
        f"{name}: this format can be read only when the file is complete; scan it then"
    )


def whole_runs(
    recognizes: Callable[[Any], bool], runs_in: Callable[[Any, str], Iterator[RecordedRun]]
) -> Read:
    """Read a format in which each record holds whole runs; what it is not of is reported."""

    def read(found: Iterable[Record], name: str, on_trouble: OnTrouble) -> Iterator[RecordedRun]:
        for record in found:
            if recognizes(record.value):
                yield from runs_in(record.value, record.place(name))
            else:
                on_trouble(record.line, "")

    return read


def each_by_itself(read: Read) -> Follow:
    """Follow a format in which each record holds whole runs."""

    def follow(name: str, on_trouble: OnTrouble) -> TakeRecord:
        return lambda record: map(WholeRun, read([record], name, on_trouble))

    return follow
