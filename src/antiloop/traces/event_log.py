"""A plain log of events: one JSON object a line, the events of several runs mixed.

::

    {"run_id": "a1", "type": "tool_call_completed", "tool": "search", "input": {"q": "cats"},
     "output": "nothing", "latency_ms": 12}

It is what `RunRecorder` writes. A run is given as soon as an event says that it is over, so that
only the runs that are under way at one time are held.
"""

from typing import Any, Dict, Iterable, Iterator, Mapping, Set

from ..formats.content import text_of
from .open_run import OpenRun
from .recorded_run import RecordedRun
from .records import OnTrouble, Record

_TYPES = frozenset(
    """
    handoff_completed handoff_started llm_call_completed llm_call_started memory_read memory_write
    retry_triggered run_cancelled run_completed run_failed run_started state_updated
    tool_call_completed tool_call_failed tool_call_started user_message
    """.split()
)
_ENDS = frozenset(("run_cancelled", "run_completed", "run_failed"))


def recognises(value: Any) -> bool:
    """Whether a JSON value is one event of this format."""
    return isinstance(value, dict) and _is_known(value.get("type"))


def _is_known(type_: Any) -> bool:
    return isinstance(type_, str) and type_ in _TYPES


def read(found: Iterable[Record], name: str, on_trouble: OnTrouble) -> Iterator[RecordedRun]:
    """Yield each run when it is over, and at the end those that never said so."""
    under_way: Dict[str, OpenRun] = {}
    given: Set[str] = set()
    for record in found:
        event = record.value
        if not isinstance(event, dict) or not isinstance(event.get("type"), str):
            on_trouble(record.line, "no event of a run here")
            continue
        run_id = _run_id(event, name)
        run = under_way.setdefault(run_id, OpenRun(run_id, record.place(name)))
        run.add(event)
        if event["type"] in _ENDS:
            given.add(run_id)
            yield under_way.pop(run_id).close()
    for run in under_way.values():
        # What comes after the end of a run and calls nothing is an afterword, not a further run.
        if run.calls or run.run_id not in given:
            yield run.close()


def _run_id(event: Mapping[str, Any], name: str) -> str:
    """Name the run of an event; all events without an id are of one run, named by the file."""
    run_id = event.get("run_id")
    return name if run_id is None else text_of(run_id)
