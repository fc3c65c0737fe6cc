"""A recorded run in a notebook."""

from collections import Counter
from typing import Iterator, List, Optional

from ..._short_repr import counted
from ..._text.markup import html
from ...health import HealthReport, HealthStatus, evaluate
from ...traces import RecordedRun
from .._data.run_data import DrawnRun, drawn
from .._plain import span_of
from .frame import frame, head, listed, name, pictured, quiet, text
from .strip import TONES, Mark, Strip

JUDGED = 2_000
"""Calls of a run that is judged on the way to its picture: a longer one takes seconds."""
_UNJUDGED = HealthReport(100, HealthStatus.HEALTHY)
_CALLS = 6  # different calls that are named
_SIGNS = ("&#9632;", "&#9776;", "&#9644;")


def run_html(run: RecordedRun) -> str:
    """Return a run as a notebook shows it.

    Its loops are those that `antiloop.health.evaluate` finds. A run of more than 2,000 calls is
    drawn without them.
    """
    health = evaluate(run) if len(run) <= JUDGED else None
    title, source = name(run.run_id, 60), name(run.source, 80) if run.source else ""
    if health is None:
        line = head(title, "", f"{len(run):,} calls", source)
        note = "Too long to be judged here; <code>antiloop.health.evaluate(run)</code> does it."
        return frame(line, run_picture(run, None), f"<div>{quiet(note)}</div>")
    wasted = f"{health.wasted_calls:,} wasted" if health.wasted_calls else ""
    calls = counted(len(run), "call")
    line = head(title, health.status.value, f"score {health.score}", calls, wasted, source)
    return frame(line, run_picture(run, health))


def run_picture(run: RecordedRun, health: Optional[HealthReport]) -> str:
    """Draw a run: its steps, the calls that come back, and its loops."""
    picture = drawn(run, health or _UNJUDGED)
    return (
        pictured(_strip(picture)) + listed([*_calls(picture)], _CALLS) + listed([*_loops(picture)])
    )


def _strip(picture: DrawnRun) -> Strip:
    data = picture.data
    marks: List[Mark] = []
    for step, (number, _, lane, is_seen) in enumerate(data["steps"]):
        call = data["calls"][number]
        is_marked = "mark" in call
        marks.append(
            Mark(step, lane, TONES[call["tone"]], call["shape"], is_seen)
            if is_marked
            else Mark(step, lane, rank=-1)
        )
    return Strip(
        len(marks),
        marks,
        data["lanes"],
        {step for loop in data["loops"] for step in loop["steps"] if step < len(marks)},
        {step for loop in data["loops"] for step, _ in loop["actions"] if step < len(marks)},
        [(step, percent / 100) for step, percent in data["curve"] if step < len(marks)],
    )


def _calls(picture: DrawnRun) -> Iterator[str]:
    """Yield a line for each call that comes back, the most frequent first."""
    data = picture.data
    times = Counter(number for number, *_ in data["steps"])
    for number, count in times.most_common():
        call = data["calls"][number]
        if "mark" not in call:
            return
        sign, tone = _SIGNS[call["shape"]], TONES[call["tone"]]
        arguments = text(picture.texts[call["text"]], 80)
        yield (
            f'<span style="color:{tone}">{sign}</span> {html(call["mark"])}'
            f" {text(call['tool'], 40)} {quiet(arguments)} &#215; {count:,}"
        )


def _loops(picture: DrawnRun) -> Iterator[str]:
    for loop in picture.data["loops"]:
        actions = ", ".join(f"{html(action)} at step {step}" for step, action in loop["actions"])
        steps = span_of(loop["steps"])
        yield f"<b>{text(loop['label'], 60)}</b>, {steps}: {text(loop['message'])} {quiet(actions)}"
