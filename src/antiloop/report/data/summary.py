"""One line of the overview: what is known of a run without its steps."""

from collections import Counter
from typing import Any, Dict, List

from ...formats.amounts import number
from ...health import HealthReport, HealthStatus
from ...loop_detection.text.masking import SECRETS, Masking
from ...traces import RecordedRun
from ...traces.live.live_session import LiveState
from .run_data import DrawnRun
from .score import entries_of, score_of

PICTURE_COLUMNS = 60
"""Steps of a run that its picture can tell apart."""
_ONCE, _FRESH, _SEEN, _LOOP = range(4)
_STATUSES = tuple(each.value for each in (*reversed(HealthStatus), *LiveState))
"""Of runs, and of sessions that go on; the worst first."""


def summary(
    run: RecordedRun,
    health: HealthReport,
    drawn: DrawnRun,
    position: int,
    masking: Masking = SECRETS,
) -> Dict[str, Any]:
    """Return what the overview and the head of a run show."""
    loops = drawn.data["loops"]
    costs = [each["cost"] for each in loops if each["cost"] is not None]
    return {
        "number": position,
        "id": run.run_id,
        "source": run.source,
        "agent": run.agent and masking.name(run.agent),
        "model": run.model and masking.name(run.model),
        "status": health.status.value,
        "score": score_of(health),
        "entries": [[each.name, each.points] for each in entries_of(health)],
        "calls": health.calls,
        "wasted_calls": health.wasted_calls,
        "wasted_tokens": _wasted_tokens(health, loops),
        "is_estimate": health.wasted_tokens is None,
        "wasted_cost": sum(costs) if costs else None,
        "cost": number(health.cost),
        "input_tokens": run.input_tokens,
        "output_tokens": run.output_tokens,
        "loops": [each["label"] for each in loops],
        "detectors": sorted({name for each in loops for name in each["detectors"]}),
        "tools": sorted({each["tool"] for each in drawn.data["calls"]}),
        "picture": picture_of(drawn),
    }


def headline(rows: List[Dict[str, Any]]) -> str:
    """Count runs, and runs of each status, the worst first; the script of the page does the same.

    Args:
        rows: of the overview; runs that others are compared to do not count.
    """
    counts = Counter(one["status"] for one in rows if one.get("side") != "b")
    runs = sum(counts.values())
    found = (f"{counts[each]:,} {each.lower()}" for each in _STATUSES if each in counts)
    return " \u00b7 ".join([f"{runs:,} run{'' if runs == 1 else 's'}", *found])


def _wasted_tokens(health: HealthReport, loops: List[Dict[str, Any]]) -> int:
    if health.wasted_tokens is not None:
        return health.wasted_tokens
    return sum(each["tokens"] for each in loops)


def picture_of(drawn: DrawnRun) -> str:
    """Draw a run in one line: a digit for some steps, the worst of them.

    0 is a call that was made once, 1 one that came back with something new, 2 one that came back
    with nothing new, 3 one of a loop.
    """
    steps, calls = drawn.data["steps"], drawn.data["calls"]
    looped = {step for loop in drawn.loops for step in loop.steps}
    worth = [
        _LOOP
        if step in looped
        else _SEEN
        if is_seen
        else _FRESH
        if "mark" in calls[call]
        else _ONCE
        for step, (call, _, _, is_seen) in enumerate(steps)
    ]
    columns = min(PICTURE_COLUMNS, len(worth))
    bounds = [column * len(worth) // columns for column in range(columns + 1)] if columns else []
    return "".join(str(max(worth[start:stop])) for start, stop in zip(bounds, bounds[1:]))
