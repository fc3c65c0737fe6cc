"""ATIF trajectories, one document or one a line; those of subagents are separate runs.

A trajectory is one JSON document, which is read whole.
"""

from bisect import bisect_left
from typing import Any, Dict, Iterator, Tuple

from ..._amounts import number, total, whole_number
from ...formats import History, from_atif
from ...formats._internal import field_of, items_of, mapping_of, optional_text, own_steps, time_of
from .._recorded_run import RecordedRun, RunEvent
from .._shared.run_under_way import whole_runs
from .._shared.usage import reply_event, usage_of


def recognizes(value: Any) -> bool:
    """Whether a JSON value is one trajectory."""
    if not isinstance(value, dict) or not isinstance(value.get("steps"), list):
        return False
    return isinstance(value.get("schema_version"), str) or "step_id" in mapping_of(
        next(iter(value["steps"]), None)
    )


def _runs(trajectory: Dict[str, Any], source: str) -> Iterator[RecordedRun]:
    """Yield the run of a trajectory, then those of the subagents inside it."""
    waiting = [trajectory]
    while waiting:
        value = waiting.pop(0)
        yield _run(value, source)
        waiting += filter(recognizes, items_of(value.get("subagent_trajectories")))


read = whole_runs(recognizes, _runs)


def _run(value: Dict[str, Any], source: str) -> RecordedRun:
    history = from_atif(value)
    events = _events(value, history)
    agent, metrics = value.get("agent"), value.get("final_metrics")
    models = [field_of(agent, "model_name"), *(event.model for event in events)]
    return RecordedRun(
        optional_text(value.get("trajectory_id"))
        or optional_text(value.get("session_id"))
        or source,
        source=source,
        events=events,
        agent=optional_text(field_of(agent, "name")),
        model=next(filter(None, map(optional_text, models)), None),
        input_tokens=_written_or(
            whole_number(field_of(metrics, "total_prompt_tokens")),
            total(event.input_tokens for event in events),
        ),
        output_tokens=_written_or(
            whole_number(field_of(metrics, "total_completion_tokens")),
            total(event.output_tokens for event in events),
        ),
        cost=_written_or(
            number(field_of(metrics, "total_cost_usd")), total(event.cost for event in events)
        ),
        **vars(history),
    )


def _written_or(written: Any, counted: Any) -> Any:
    return counted if written is None else written


def _events(value: Dict[str, Any], history: History) -> Tuple[RunEvent, ...]:
    """Return what is known of each reply of the model."""
    rounds = [call.round or 0 for call in history.calls]
    return tuple(
        _reply(step, bisect_left(rounds, index))
        for index, step in own_steps(value)
        if field_of(step, "source") == "agent"
    )


def _reply(step: Any, before: int) -> RunEvent:
    model, metrics = field_of(step, "model_name"), field_of(step, "metrics")
    return reply_event(
        before,
        usage_of(model, metrics, ("prompt_tokens",), ("completion_tokens",)),
        time_s=time_of(step),
        cost=number(field_of(metrics, "cost_usd")),
    )
