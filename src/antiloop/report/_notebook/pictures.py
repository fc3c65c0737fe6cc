"""Objects as small pictures in a notebook: what their ``_repr_html_`` gives.

A picture is one piece of HTML that needs nothing else: no script, no style sheet, no request. Its
colors are readable on a light and on a dark page, and its size is bounded however long a run is.
All texts of a run are masked, shortened and escaped.

>>> from antiloop.traces import read_runs
>>> run = next(read_runs("docs/examples/runs.jsonl"))
>>> run_html(run)[:11]
'<div style='
"""

from collections import Counter
from typing import Any, Iterator, List, Mapping, Optional, Tuple

from ..._short_repr import counted
from ..._text.markup import html
from ..._trace import StepType, TraceStep
from ...agent import AgentResult
from ...explanation import Count, Explanation, Match, Rung
from ...health import HealthReport, HealthStatus, evaluate
from ...loop_detection import LoopAction, LoopDetection, LoopVerdict
from ...traces import RecordedRun
from .._data.run_data import DrawnRun, drawn
from .._plain import span_of
from .frame import frame, head, listed, more, name, pictured, quiet, text
from .strip import BAD, INK, TONES, Mark, Strip

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


def health_html(report: HealthReport) -> str:
    """Return a report as a notebook shows it.

    It knows the number of calls and not the calls, so it shows where the loops are and the
    suspicion.
    """
    wasted = f"{report.wasted_calls:,} wasted" if report.wasted_calls else ""
    line = head(
        "HealthReport",
        report.status.value,
        f"score {report.score}",
        counted(report.calls, "call"),
        wasted,
        counted(len(report.warnings), "warning"),
    )
    return frame(line, pictured(_strip_of_report(report)), listed([*_warnings(report)]))


def _strip_of_report(report: HealthReport) -> Strip:
    steps = range(report.calls)
    found = [verdict.detection for _, verdict in report.verdicts if verdict.detection]
    return Strip(
        len(steps),
        looped={step for each in found for step in each.indices if step in steps},
        flagged={step for step, _ in report.verdicts if step in steps},
        curve=[(step, suspicion) for step, suspicion in report.suspicion if step in steps],
    )


def _warnings(report: HealthReport) -> Iterator[str]:
    for each in report.warnings:
        advice = quiet(text(each.suggestion))
        yield f"<b>{text(each.name, 40)}</b>, step {each.step}: {text(each.message)} {advice}"


_LOOPS = (StepType.GRAPH_LOOP_DETECTED, StepType.GRAPH_STALL)
_WORDS = 400  # characters of the answer


def result_html(result: AgentResult) -> str:
    """Return a result as a notebook shows it, with the loops that the agent's detector found."""
    calls, known = result.tool_calls, result.tool_results[: len(result.tool_calls)]
    results = (*known, *[None] * (len(calls) - len(known)))
    health = HealthReport(100, HealthStatus.HEALTHY, verdicts=tuple(_verdicts(result)))
    spent = result.usage.input_tokens + result.usage.output_tokens
    line = head(
        "AgentResult",
        result.status.value,
        counted(result.iterations, "iteration"),
        counted(len(calls), "call"),
        f"{spent:,} tokens" if spent else "",
    )
    picture = run_picture(RecordedRun(result.run_id, calls, results), health)
    said = result.error or result.text
    title = "error" if result.error else "answer"
    words = f"<div>{quiet(title)} {text(said, _WORDS)}</div>" if said else ""
    return frame(line, picture, words)


def _verdicts(result: AgentResult) -> Iterator[Tuple[int, LoopVerdict]]:
    """Yield the step and the verdict of each loop in the trace."""
    count = 0
    for number, step in enumerate(result.trace.steps):
        count += step.type is StepType.TOOL_CALL
        if step.type in _LOOPS:
            found = _detection(number, step, len(result.tool_calls))
            yield max(0, count - 1), LoopVerdict(_action(step.data.get("action")), found)


def _action(name: Any) -> LoopAction:
    known = [each.value for each in LoopAction]
    return LoopAction(name) if name in known else LoopAction.NOTIFY


def _detection(number: int, step: TraceStep, calls: int) -> LoopDetection:
    """Read a detection; a trace may be made by hand, and hold anything."""
    details = step.data.get("details")
    details = details if isinstance(details, Mapping) else {}
    cycle = details.get("cycle")
    listed = details.get("indices")
    listed = listed if isinstance(listed, list) else []
    steps = {each for each in listed if type(each) is int and 0 <= each < calls}
    return LoopDetection(
        "loop",
        step.summary,
        identity=str(number),
        period=len(cycle) if cycle and isinstance(cycle, list) else 1,
        repetitions=2,
        indices=tuple(sorted(steps)),
    )


_ROWS = 12  # detectors, and loops on their ladders
_GRID = (
    "display:grid;grid-template-columns:minmax(7rem,20%) minmax(7rem,20%) 1fr;gap:0 1rem;"
    "align-items:center;margin:.25rem 0"
)


def explanation_html(explanation: Explanation) -> str:
    """Return an explanation as a notebook shows it.

    Each detector has a row: what it counted, how much it needs, and where in the window that is.
    """
    found = explanation.verdict.detection
    rounds = counted(explanation.window_rounds, "round")
    line = head(
        f"Explanation of step {explanation.step}",
        explanation.verdict.action.value if found else "no verdict",
        f"{rounds} in the window, from step {explanation.window_start}",
        f"{explanation.news} with a new answer",
    )
    message = f"<div>{text(found.summary)}</div>" if found else ""
    calls = listed([_call(each) for each in explanation.matches])
    rungs = listed([_rung(each) for each in explanation.rungs], _ROWS)
    return frame(line, message, calls, _counts(explanation), rungs)


def _call(match: Match) -> str:
    """Name a call, and where in the window it stands, too."""
    same = (
        f"the same call {counted(len(match.seen), 'time')} before" if match.seen else "a new call"
    )
    answer = f"{match.answer}, {'new' if match.is_new_answer else 'not new'}"
    call = f"{text(match.tool, 40)} {quiet(text(match.arguments, 80))}"
    return f"step {match.step}: {call} {quiet(f'{same}; its result: {html(answer)}')}"


def _counts(explanation: Explanation) -> str:
    rows = "".join(_count(explanation, each) for each in explanation.counts[:_ROWS])
    grid = f'<div style="{_GRID}">{rows}</div>' if rows else ""
    return grid + "".join(more(len(explanation.counts) - _ROWS))


def _count(explanation: Explanation, count: Count) -> str:
    made = "-" if count.count is None else f"{count.count:,}"
    counts = f"{made} of {count.needed:,} {html(count.unit)}"
    name = text(count.detector, 40)
    if count.is_enough:
        name, counts = f"<b>{name}</b>", f'<b style="color:{BAD}">{counts}</b>'
    return "".join(f"<div>{cell}</div>" for cell in (name, counts, _window(explanation, count)))


def _window(explanation: Explanation, count: Count) -> str:
    """Draw the window, with the calls that were counted."""
    first = explanation.window_start
    size = max(0, explanation.step - first + 1) if count.indices else 0
    if not size:
        return ""
    chosen = {step - first for step in count.indices}
    tone = BAD if count.is_enough else TONES[0]
    marks = [
        Mark(step, 0, tone, rank=1) if step in chosen else Mark(step, 0, INK, rank=-1)
        for step in range(size)
    ]
    strip = Strip(size, marks, 1)
    return f'<div style="width:{strip.width}%">{strip.svg()}</div>'


def _rung(rung: Rung) -> str:
    at = min(rung.climbed, len(rung.actions)) - 1
    ladder = " &#8594; ".join(
        f"<b>{html(name)}</b>" if at == here else html(name)
        for here, name in enumerate(rung.actions)
    )
    refused = "; its calls are blocked" if rung.is_refused else ""
    return f"{text(rung.detector, 40)}: {ladder}{refused}"
