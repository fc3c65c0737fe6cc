"""mini-swe-agent's ``.traj.json`` files. Each is one JSON document, which is read whole."""

from typing import Any, Dict, Iterable, Iterator

from ..formats import from_mini_swe_agent
from ..formats.amounts import number
from ..formats.content import field_of, items_of, optional_text, text_of
from .recorded_run import RecordedRun
from .records import OnTrouble, Record

_ENDED_WELL = ("", "Submitted")


def recognises(value: Any) -> bool:
    """Whether a JSON value is one run of mini-swe-agent."""
    if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
        return False
    return text_of(value.get("trajectory_format")).startswith("mini-swe-agent")


def read(found: Iterable[Record], name: str, on_trouble: OnTrouble) -> Iterator[RecordedRun]:
    """Yield one run for each trajectory, skipping what is none."""
    for record in found:
        if recognises(record.value):
            yield _run(record.value, record.place(name))
        else:
            on_trouble(record.line, "no mini-swe-agent trajectory here")


def _run(value: Dict[str, Any], source: str) -> RecordedRun:
    told = from_mini_swe_agent(items_of(value["messages"]))
    info = value.get("info")
    model = field_of(field_of(field_of(info, "config"), "model"), "model_name")
    return RecordedRun(
        optional_text(value.get("instance_id")) or source,
        told.calls,
        told.results,
        told.turn_starts,
        source,
        model=optional_text(model),
        cost=number(field_of(field_of(info, "model_stats"), "instance_cost")),
        failed=text_of(field_of(info, "exit_status")) not in _ENDED_WELL,
    )
