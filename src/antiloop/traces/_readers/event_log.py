"""A plain log of events: one JSON object a line, the events of several runs mixed.

::

    {"run_id": "a1", "type": "tool_call_completed", "tool": "search", "input": {"q": "cats"},
     "output": "nothing", "latency_ms": 12}

It is what `RunRecorder` writes. A run is given as soon as an event says that it is over, so that
only the runs that are under way at one time are held.
"""

from typing import Any, Dict, Iterable, Iterator, List, Mapping, Set

from ..._latest import Latest
from ...formats._internal import tag_of, text_of
from .._recorded_run import RecordedRun
from .._shared.open_run import OpenRun
from .._shared.records import OnTrouble, Record
from .._shared.run_under_way import RUNS_UNDER_WAY, TakeRecord

_TYPES = frozenset(
    """
    handoff_completed handoff_started llm_call_completed llm_call_started memory_read memory_write
    retry_triggered run_cancelled run_completed run_failed run_started second_opinion state_updated
    tool_call_completed tool_call_failed tool_call_started user_message
    """.split()
)
_ENDS = frozenset(("run_cancelled", "run_completed", "run_failed"))


def recognizes(value: Any) -> bool:
    """Whether a JSON value is one event of this format."""
    return isinstance(value, dict) and tag_of(value, "type") in _TYPES


def read(found: Iterable[Record], name: str, on_trouble: OnTrouble) -> Iterator[RecordedRun]:
    """Yield each run when it is over, and at the end those that never said so."""
    log = _Log(name, on_trouble, {})
    given: Set[str] = set()
    for record in found:
        for run in log.take(record):
            if run.is_over:
                given.add(run.run_id)
                yield run.close()
    for run in log.under_way.values():
        # What comes after the end of a run and calls nothing is an afterword, not a further run.
        if len(run) or run.run_id not in given:
            yield run.close()


def follow(name: str, on_trouble: OnTrouble) -> TakeRecord:
    """Read a log event by event while it is written."""
    return _Log(name, on_trouble, Latest(RUNS_UNDER_WAY)).take


class _Log:
    """Sorts events by run, and holds the runs that are not over."""

    def __init__(self, name: str, on_trouble: OnTrouble, under_way: Dict[str, OpenRun]) -> None:
        self.under_way = under_way
        self._name = name
        self._on_trouble = on_trouble

    def take(self, record: Record) -> List[OpenRun]:
        """Add an event to the run that it belongs to."""
        event = record.value
        if not isinstance(event, dict) or not isinstance(event.get("type"), str):
            self._on_trouble(record.line, "")
            return []
        run = self._run_of(event, record)
        run.take(event)
        if event["type"] in _ENDS:
            run.is_over = True
            del self.under_way[run.run_id]
        return [run]

    def _run_of(self, event: Mapping[str, Any], record: Record) -> OpenRun:
        """Find the run of an event; all events without an id are of one run, named by the file."""
        given = event.get("run_id")
        run_id = self._name if given is None else text_of(given)
        run = self.under_way.get(run_id)
        if run is None:
            run = OpenRun(run_id, record.place(self._name))
        self.under_way[run_id] = run
        return run
