"""SWE-agent's ``.traj`` files. Each is one JSON document, which is read whole."""

from bisect import bisect_left
from typing import Any, Dict, Iterator, List, Tuple

from ..._amounts import number, whole_number
from ...formats import History, from_swe_agent
from ...formats._internal import field_of, optional_text, text_of
from .._recorded_run import RecordedRun, RunEvent
from .._shared.run_under_way import whole_runs


def recognizes(value: Any) -> bool:
    """Whether a JSON value is one run of SWE-agent."""
    return isinstance(value, dict) and bool(_steps(value))


def _steps(value: Dict[str, Any]) -> List[Any]:
    """Return the steps, or the messages where a file has no steps."""
    for key, is_own in (("trajectory", _is_step), ("history", _is_message)):
        steps = value.get(key)
        if isinstance(steps, list) and any(map(is_own, steps)):
            return steps
    return []


def _is_step(step: Any) -> bool:
    return isinstance(step, dict) and isinstance(step.get("action"), str) and "observation" in step


def _is_message(message: Any) -> bool:
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        return False
    return "message_type" in message or "agent" in message


def _runs(value: Dict[str, Any], source: str) -> Iterator[RecordedRun]:
    steps = _steps(value)
    history = from_swe_agent(steps)
    info = value.get("info")
    spent = field_of(info, "model_stats")
    run_id = optional_text(value.get("instance_id")) or optional_text(field_of(info, "instance_id"))
    yield RecordedRun(
        run_id or source,
        source=source,
        events=_events(steps, history),
        agent=optional_text(field_of(info, "agent")),
        input_tokens=whole_number(field_of(spent, "tokens_sent")),
        output_tokens=whole_number(field_of(spent, "tokens_received")),
        cost=number(field_of(spent, "instance_cost")),
        failed=text_of(field_of(info, "exit_status")).startswith("exit_"),
        **vars(history),
    )


read = whole_runs(recognizes, _runs)


def _events(steps: List[Any], history: History) -> Tuple[RunEvent, ...]:
    """Return how long each action took, where that was recorded."""
    rounds = [call.round or 0 for call in history.calls]
    took = ((index, number(field_of(step, "execution_time"))) for index, step in enumerate(steps))
    known = ((bisect_left(rounds, i), seconds * 1000) for i, seconds in took if seconds is not None)
    return tuple(
        RunEvent("tool_call_completed", step, history.calls[step].tool_name, latency_ms=taken)
        for step, taken in known
        if step < len(rounds)
    )
