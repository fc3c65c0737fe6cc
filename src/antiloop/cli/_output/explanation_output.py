"""Print the explanations of `antiloop explain`: text for a person, or JSON."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Sequence

from ..._text.shortening import visible
from .judged_output import message
from .terminal import counted, line_of, named

if TYPE_CHECKING:
    from ...explanation import Count, Explanation, Match, Rung
    from ...traces import RecordedRun

_SHOWN_STEPS = 8
_SHOWN_WORDS = 160
"""The number of characters of a message that are shown."""
_NAME = 15
"""Width of most detector names."""
_USUAL = ("threshold", "repetitions", "in_a_row")


def as_json(run: "RecordedRun", explanation: "Explanation") -> Dict[str, Any]:
    """Return an explanation as plain JSON data."""
    parts = {name: value for name, value in vars(explanation).items() if name != "verdict"}
    for name in ("matches", "counts", "rungs", "messages"):
        parts[name] = [asdict(each) for each in parts[name]]
    return {
        "run_id": run.run_id,
        "source": run.source,
        "steps": len(run),
        "step": explanation.step,
        **explanation.verdict.to_dict(),
        **parts,
    }


def as_text(run: "RecordedRun", explanation: "Explanation") -> str:
    width = max([_NAME, *(len(count.detector) for count in explanation.counts)])
    lines = [
        f"{named(run.run_id)}, {counted(len(run), 'step')} ({run.source})",
        "",
        *_step(explanation),
        "",
        *_messages(explanation),
        *_window(explanation),
        "",
        "What the detectors counted:",
        *(line for count in explanation.counts for line in _count(count, explanation.rungs, width)),
    ]
    if explanation.rungs:
        rungs = (_rung(rung, width) for rung in explanation.rungs)
        lines += ["", "Ladders of the loops:", *rungs]
    return "\n".join(map(line_of, lines))


def _step(explanation: "Explanation") -> Iterator[str]:
    for match in explanation.matches:
        yield f"step {match.step}  {named(match.tool)} {match.arguments}"
    if explanation.verdict.detection is not None:
        yield f"  {explanation.verdict.action.value}: {message(explanation.verdict)}"
    else:
        yield "  no verdict"


def _messages(explanation: "Explanation") -> Iterator[str]:
    if explanation.messages:
        yield "Messages around this step:"
    for each in explanation.messages:
        place = "before" if explanation.matches and each.position <= explanation.step else "after"
        words = visible(" ".join(each.text.split()), _SHOWN_WORDS)
        yield f"  {place}, {each.role.value}: {words}"
    if explanation.messages:
        yield ""


def _window(explanation: "Explanation") -> Iterator[str]:
    since = f"step {explanation.window_start} on"
    if explanation.window_start == explanation.turn_start > 0:
        since += ", because of a user message"
    rounds, news = (
        counted(explanation.window_rounds, "round"),
        f"{explanation.news} of them with a new answer",
    )
    yield f"In the window, from {since}: {rounds}, {news}"
    if explanation.changes:
        yield f"  successful changes: {_steps(explanation.changes)}"
    for match in explanation.matches:
        yield from _match(match)


def _match(match: "Match") -> Iterator[str]:
    news = ", new" if match.is_new_answer else ""
    yield f"  step {match.step}: call {match.call}, result {match.result} ({match.answer}{news})"
    by_result: Dict[str, List[int]] = {}
    for seen in match.seen:
        by_result.setdefault(seen.result, []).append(seen.step)
    for result, steps in by_result.items():
        yield f"    the same call, result {result}: {_steps(steps)}"
    for what, others in (
        ("nearly the same call", match.near_calls),
        ("another call, same result", match.same_answer),
        ("another call, nearly the same result", match.like_answer),
    ):
        if others:
            yield f"    {what}: {_steps(others)}"


def _count(count: "Count", rungs: "Sequence[Rung]", width: int) -> Iterator[str]:
    made = "-" if count.count is None else f"{count.count:,}"
    why = f" ({count.option})" if count.option not in _USUAL else ""
    where = f": {_steps(count.indices)}; before: {count.before}" if count.indices else ""
    yield f"  {count.detector:<{width}} {made:>3} of {count.needed} {count.unit}{why}{where}"
    if count.is_enough:
        yield f"{'':{width + 7}}{_reason(count, rungs)}"


def _reason(count: "Count", rungs: "Sequence[Rung]") -> str:
    """Return what followed from a streak that is long enough."""
    is_further = any(rung.is_found_now for rung in rungs if rung.identity == count.identity)
    return "enough" if is_further else "enough, but reported already; the loop must go on longer"


def _rung(rung: "Rung", width: int) -> str:
    at = min(rung.climbed, len(rung.actions)) - 1
    ladder = [f"[{name}]" if at == here else name for here, name in enumerate(rung.actions)]
    times = "once" if rung.found == 1 else f"{rung.found} times"
    now = ", now again" if rung.is_found_now and rung.found > 1 else ""
    refused = "; its calls are blocked" if rung.is_refused else ""
    return f"  {rung.detector:<{width}} {' -> '.join(ladder)}, found {times}{now}{refused}"


def _steps(indices: Sequence[int]) -> str:
    """List steps: neighbors as a range, and only the last ranges."""
    ranges: List[List[int]] = []
    for index in indices:
        if ranges and index == ranges[-1][-1] + 1:
            ranges[-1] = [ranges[-1][0], index]
        else:
            ranges.append([index])
    shown = ["-".join(map(str, each)) for each in ranges[-_SHOWN_STEPS:]]
    before = "..., " if len(ranges) > _SHOWN_STEPS else ""
    return f"step{'s' if len(indices) > 1 else ''} {before}{', '.join(shown)}"
