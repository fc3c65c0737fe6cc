"""One line of the overview: what is known of a run without its steps."""

from collections import Counter, defaultdict, deque
from typing import Any, DefaultDict, Deque, Dict, List, NamedTuple

from ..._amounts import number
from ..._short_repr import counted
from ..._text.masking import SECRETS, Masking
from ...health import HealthProfile, HealthReport, HealthStatus
from ...traces import RecordedRun
from ...traces._internal import LiveState
from .moments import moments_of
from .run_data import DrawnRun


class Entry(NamedTuple):
    """One line of the score."""

    name: str
    """A rule of health, or ``failed``."""
    points: float
    """The points that it takes, as a number below 0."""


def entries_of(health: HealthReport) -> List[Entry]:
    """Return what takes points from the 100 of a run; its score never falls below 0."""
    entries = [Entry(each.name, -each.penalty) for each in health.warnings if each.penalty]
    if health.status is HealthStatus.FAILED:
        entries.append(Entry("failed", -_failure_penalty(health, entries)))
    return entries


def _failure_penalty(health: HealthReport, entries: List[Entry]) -> float:
    """Return what the failure took: what the score lacks, or the usual if the score is 0."""
    if health.score:
        return max(0, 100 + sum(each.points for each in entries) - health.score)
    return HealthProfile.failure_penalty


_CHANGES = ("worse", "better", "same", "new", "gone")


def compare(ours: List[Dict[str, Any]], others: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    """Note in the lines of the overview how each run changed, and return all of them.

    Runs with the same id are a pair; where an id comes several times, in their order. A run is
    better if its score is higher or, with the same score, if it wasted fewer calls.
    """
    waiting: DefaultDict[str, Deque[Dict[str, Any]]] = defaultdict(deque)
    for one in others:
        one.update(side="b", change="gone")
        waiting[one["id"]].append(one)
    for one in ours:
        one.update(side="a", change="new")
        if waiting[one["id"]]:
            _pair(one, waiting[one["id"]].popleft())
    return ours + others


def _pair(one: Dict[str, Any], other: Dict[str, Any]) -> None:
    now, before = ((each["score"], -each["wasted_calls"]) for each in (one, other))
    change = "same" if now == before else "better" if now > before else "worse"
    one.update(change=change, other=other["number"])
    other.update(change=change, other=one["number"])


def counts_of(summaries: List[Dict[str, Any]]) -> Dict[str, int]:
    """Count the changes, each pair of runs once; empty where nothing was compared."""
    rows = [one["change"] for one in summaries if is_listed(one) and "change" in one]
    return {change: rows.count(change) for change in _CHANGES if change in rows}


def is_listed(about: Dict[str, Any]) -> bool:
    """Whether a run has a row, and is not shown beside the one that replaced it."""
    return about.get("side") != "b" or bool(about["change"] == "gone")


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
    times = moments_of(run)
    return {
        "number": position,
        "id": run.run_id,
        "source": run.source,
        "agent": run.agent and masking.name(run.agent),
        "model": run.model and masking.name(run.model),
        "status": health.status.value,
        "score": health.score,
        "entries": [[each.name, each.points] for each in entries_of(health)],
        "calls": health.calls,
        "wasted_calls": health.wasted_calls,
        "wasted_tokens": _wasted_tokens(health, loops),
        "is_estimate": health.wasted_tokens is None,
        "wasted_cost": sum(costs) if costs else None,
        "cost": number(health.cost),
        "input_tokens": run.input_tokens,
        "output_tokens": run.output_tokens,
        "began_s": times.began_s and round(times.began_s, 3),
        "took_s": times.took_s and round(times.took_s, 3),
        "loops": [each["label"] for each in loops],
        "keys": [[each["key"], each["name"]] for each in loops],
        "detectors": sorted({name for each in loops for name in each["detectors"]}),
        "tools": sorted({each["tool"] for each in drawn.data["calls"]}),
        "picture": picture_of(drawn),
        "has_text": "results" in drawn.data,
    }


class Group(NamedTuple):
    """Equal loops of several runs."""

    key: str
    name: str
    """The name of what is called in it, as the first of the runs has it."""
    runs: int
    wasted_calls: int
    """Of these runs as a whole."""


def groups_of(rows: List[Dict[str, Any]]) -> List[Group]:
    """Return the loops that several runs have, the one with the most runs first.

    The script of the page does the same.
    """
    found: Dict[str, List[Dict[str, Any]]] = {}
    names: Dict[str, str] = {}
    for one in rows:
        for key, name in dict(one["keys"]).items():
            found.setdefault(key, []).append(one)
            names.setdefault(key, name)
    groups = [
        Group(key, names[key], len(runs), sum(each["wasted_calls"] for each in runs))
        for key, runs in found.items()
        if len(runs) > 1
    ]
    return sorted(groups, key=lambda each: (-each.runs, -each.wasted_calls, each.name, each.key))


def headline(rows: List[Dict[str, Any]]) -> str:
    """Count runs, and runs of each status, the worst first; the script of the page does the same.

    Args:
        rows: of the overview; runs that others are compared to do not count.
    """
    counts = Counter(one["status"] for one in rows if one.get("side") != "b")
    runs = sum(counts.values())
    found = (f"{counts[each]:,} {each.lower()}" for each in _STATUSES if each in counts)
    return " \u00b7 ".join([counted(runs, "run"), *found])


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
