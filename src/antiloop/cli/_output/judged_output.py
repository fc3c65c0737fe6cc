"""Print the findings of `antiloop scan`: text for a person, or JSON."""

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Tuple

from ..._text.masking import SECRETS
from ...health import HealthStatus
from .figures import Figures, known_figures, table_lines, titles
from .terminal import (
    counted,
    is_quiet,
    is_verbose,
    line_of,
    named,
    page_columns,
    painted,
    say,
    tell,
)

if TYPE_CHECKING:
    from ...loop_detection import LoopVerdict
    from .._judged_run import JudgedRun, Verdicts

    Said = Tuple[int, LoopVerdict, List[int]]


class HealthTable:
    """Counts runs by their health. Tokens and cost are shown if any run reports them."""

    def __init__(self) -> None:
        self._rows: Dict[HealthStatus, Figures] = {status: Figures() for status in HealthStatus}

    def add(self, judged: "JudgedRun") -> None:
        health = judged.health
        wasted = health.wasted_calls, health.wasted_tokens
        self._rows[health.status] += Figures(
            1, 0, health.calls, *wasted, health.cost, health.wasted_cost
        )

    def lines(self, width: Optional[int] = None) -> Iterator[str]:
        """Yield the table, with a dash for a figure that no run of a row has.

        Args:
            width: the longest line; a wider table becomes a list.
        """
        rows = {status.value: row for status, row in self._rows.items() if row.runs}
        everything = sum(rows.values(), Figures())
        if len(rows) > 1:
            rows["all"] = everything
        names = known_figures([everything], but=("loops", "wasted_share"))
        cells = [(title, row.cells(names)) for title, row in rows.items()]
        for line in table_lines(("", *titles(names)), cells, width, _TITLE):
            title = next((each for each in _STYLES if line.startswith(each)), "")
            yield painted(title, _STYLES[title]) + line[len(title) :] if title else line


_TITLE = len("Likely stuck")
_STYLES = {"Healthy": "green", "Warning": "yellow", "Likely stuck": "red", "Failed": "red"}


_WORST_FIRST = ("Failed", "Likely stuck", "Warning", "Healthy")
_HANG = 20
"""Characters before the message in the line of a verdict."""


class JsonlWriter:
    """One line of JSON for each run."""

    def run(self, judged: "JudgedRun") -> None:
        say(json.dumps(as_json(judged)))

    def end(self) -> None:
        """Print nothing more."""


class JsonWriter:
    """One JSON array with an object for each run."""

    def __init__(self) -> None:
        self._before = "[\n"

    def run(self, judged: "JudgedRun") -> None:
        say(self._before + json.dumps(as_json(judged), indent=2), end="")
        self._before = ",\n"

    def end(self) -> None:
        """Close the array."""
        say("[]" if self._before == "[\n" else "\n]")


class TextWriter:
    """A page: the runs that got stuck, where and how, and a sum."""

    def __init__(self) -> None:
        self._runs = 0
        self._looping: Counter[str] = Counter()
        self._known = 0
        self._table = HealthTable()

    def run(self, judged: "JudgedRun") -> None:
        """Print one run, if it has findings."""
        self._runs += 1
        self._table.add(judged)
        shown = judged.verdicts if is_verbose() else judged.new_verdicts
        self._looping[judged.health.status.value] += bool(judged.verdicts)
        self._known += len(judged.known or ())
        if not (shown or is_verbose()):
            return
        steps = counted(judged.health.calls, "step")
        tell(line_of(f"{named(judged.run_id)}, {steps} ({judged.source})"))
        for step, verdict, again in merged(shown):
            tell_verdict(step, verdict, " (known)" if judged.is_known(verdict) else "")
            if again:
                tell(f"{'':{_HANG}}{_again(again)}", _HANG)
        if not shown:
            tell(f"  {painted('nothing found', 'green')}")
        say("")

    def end(self) -> None:
        if self._runs and not is_quiet():
            for line in self._table.lines(page_columns()):
                say(line)
            say("")
            tell(f"{self._sum()}{self._left_out()}.")

    def _sum(self) -> str:
        """Count the runs with loops as the table does, so that its rows add up to them."""
        found = {name: count for name, count in self._looping.items() if count}
        runs = f"{sum(found.values()):,} of {counted(self._runs, 'run')}"
        if found.keys() <= {"Likely stuck", "Failed"}:
            return f"{runs} got stuck"
        parts = (f"{found[each]:,} {each.lower()}" for each in _WORST_FIRST if each in found)
        verb = "has" if sum(found.values()) == 1 else "have"
        return f"{runs} {verb} loops: {', '.join(parts)}"

    def _left_out(self) -> str:
        """Report how many loops are hidden because a baseline contains them."""
        if not self._known:
            return ""
        return f"; {counted(self._known, 'known loop')}{'' if is_verbose() else ' not shown'}"


def tell_verdict(step: int, verdict: "LoopVerdict", known: str = "") -> None:
    action = verdict.action.value
    style = "yellow" if verdict.severity.value == "warning" else "red"
    padded = painted(action, style) + " " * (6 - len(action))
    tell(f"  step {step:>3}  {padded}  {line_of(message(verdict))}{known}", _HANG)


def as_json(judged: "JudgedRun") -> Dict[str, Any]:
    """Return one run and all its verdicts as plain JSON data."""
    health = judged.health
    return {
        "run_id": judged.run_id,
        "steps": health.calls,
        "health": health.status.value,
        "score": health.score,
        "wasted_calls": health.wasted_calls,
        "wasted_tokens": health.wasted_tokens,
        "cost": health.cost,
        "wasted_cost": health.wasted_cost,
        **({"questions": judged.asked.questions} if judged.asked else {}),
        "verdicts": [
            {"step": step, **verdict.to_dict(), "known": judged.is_known(verdict)}
            for step, verdict in judged.verdicts
        ],
    }


def message(verdict: "LoopVerdict") -> str:
    """Describe a finding for a person; the verdict's message is for the model."""
    return SECRETS.text(verdict.summary)


def merged(verdicts: "Verdicts") -> "Iterator[Said]":
    """Yield each verdict, with the steps at which an equal one followed."""
    said: Optional[Said] = None
    for step, verdict in verdicts:
        if said and _is_same(said[1], verdict):
            said[2].append(step)
            continue
        if said:
            yield said
        said = (step, verdict, [])
    if said:
        yield said


def _is_same(one: "LoopVerdict", other: "LoopVerdict") -> bool:
    if one.action is not other.action or not (one.detection and other.detection):
        return False
    return one.detection.identity == other.detection.identity


def _again(steps: List[int]) -> str:
    if len(steps) > 3:
        return f"and {len(steps)} times more, last at step {steps[-1]}"
    return f"and again at step{'s' * (len(steps) > 1)} {', '.join(map(str, steps))}"
