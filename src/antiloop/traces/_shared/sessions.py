"""Several sessions in one file, one after the other."""

from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Protocol

from .._recorded_run import RecordedRun
from .records import OnTrouble, Record
from .run_under_way import RunUnderWay, TakeRecord


class Session(RunUnderWay, Protocol):
    """A run that takes all that is read, until another begins."""

    def is_left_by(self, value: Dict[str, Any]) -> bool: ...
    def take(self, value: Dict[str, Any]) -> None: ...
    def recorded(self) -> RecordedRun: ...


@dataclass(frozen=True)
class SessionFormat:
    """A format of sessions, by its differences; `read` and `follow` are those of a reader."""

    begin: Callable[[str, Dict[str, Any]], Session]
    """Begins a session, given its place and the first value."""
    may_begin: Callable[[Dict[str, Any]], bool]
    """Whether a recording that was cut may begin with a value."""

    def read(
        self, found: Iterable[Record], name: str, on_trouble: OnTrouble
    ) -> Iterator[RecordedRun]:
        """Yield each run when the next begins, and the last one at the end."""
        file, run = _SessionFile(self, name, on_trouble), None
        for record in found:
            for latest in file.take(record):
                if run is not None and latest is not run:
                    yield run.recorded()
                run = latest
        if run is not None:
            yield run.recorded()

    def follow(self, name: str, on_trouble: OnTrouble) -> TakeRecord:
        """Read a file record by record while it is written."""
        return _SessionFile(self, name, on_trouble).take


class _SessionFile:
    """The sessions of one file."""

    def __init__(self, session_format: SessionFormat, name: str, on_trouble: OnTrouble) -> None:
        self._format = session_format
        self._name = name
        self._on_trouble = on_trouble
        self._run: Optional[Session] = None

    def take(self, record: Record) -> List[Session]:
        """Add a record to the session that it belongs to."""
        value, run = record.value, self._run
        if not isinstance(value, dict) or (run is None and not self._format.may_begin(value)):
            self._on_trouble(record.line, "")
            return []
        if run is None or run.is_left_by(value):
            run = self._run = self._format.begin(record.place(self._name), value)
        run.take(value)
        return [run]
