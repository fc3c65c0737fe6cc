"""Labels: what a person says about a finding, or about a whole run.

A file of labels is JSON Lines, one label a line, as the report saves them and `antiloop label`
appends them. A later label on the same loop, or on the same steps, replaces an earlier one::

    {"run_id": "r1", "steps": [4, 12], "loop": "8f14e45fceea", "is_stuck": true}
    {"run_id": "r2", "steps": null, "is_stuck": false}

``steps`` are the first and the last step of what is labeled, counted from 0; null is the whole run.
"""

import json
from dataclasses import dataclass, replace
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

from ..._regular_file import opener
from ...formats import History
from ...traces import RecordedRun

FILE = "labels.jsonl"
LabeledSteps = Tuple[int, int]
"""The first and the last step, counted from 0."""
_WANTED = '{"run_id": "r1", "steps": [4, 12] or null, "is_stuck": true or false}'


@dataclass(frozen=True)
class Label:
    """Hold what a person says of a stretch of a run, or of the whole run."""

    run_id: str
    is_stuck: bool
    steps: Optional[LabeledSteps] = None
    loop: str = ""
    """The key of the loop that was marked, which equal loops share; empty where none was found."""

    @property
    def subject(self) -> Tuple[Any, ...]:
        """Return what it is about; a later label on the same replaces this one."""
        return (self.run_id, self.loop) if self.loop else (self.run_id, self.steps)

    def to_line(self) -> str:
        """Return it as a line of a file of labels."""
        steps = None if self.steps is None else list(self.steps)
        value: Dict[str, Any] = {"run_id": self.run_id, "steps": steps, "is_stuck": self.is_stuck}
        return json.dumps({**value, **({"loop": self.loop} if self.loop else {})}) + "\n"


def read_labels(path: str) -> List[Label]:
    """Read a file of labels.

    Raises:
        OSError: if it cannot be read.
        ValueError: for a line that is not a label; the message names it.
    """
    found: Dict[Tuple[Any, ...], Label] = {}
    with open(path, encoding="utf-8-sig", opener=opener) as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                label = _label(line, f"{path}:{number}")
                found.pop(label.subject, None)
                found[label.subject] = label
    return list(found.values())


def _label(line: str, place: str) -> Label:
    try:
        given = json.loads(line)
        run_id, is_stuck, steps = given["run_id"], given["is_stuck"], given.get("steps")
        loop = given.get("loop", "")
        is_right = isinstance(run_id, str) and isinstance(is_stuck, bool) and isinstance(loop, str)
        if steps is not None:
            first, last = steps
            is_right = is_right and type(first) is type(last) is int and 0 <= first <= last
            steps = first, last
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        is_right = False
    if not is_right:
        raise ValueError(f"{place}: expected a label like {_WANTED}")
    return Label(run_id, is_stuck, steps, loop)


@dataclass(frozen=True)
class Reviewed:
    """Recorded runs, sorted by what people said about them."""

    good: Sequence[RecordedRun]
    """Runs, and beginnings of runs, in which no agent is stuck: a stop there is a mistake."""
    stuck: Sequence[Tuple[RecordedRun, Sequence[LabeledSteps]]]
    """Runs with the stretches in which the agent is stuck."""
    unlabeled: int
    """Runs without a label; they count neither way."""
    unknown: Sequence[str]
    """Ids that have labels but no run."""


def review(runs: Iterable[RecordedRun], labels: Sequence[Label]) -> Reviewed:
    """Sort runs by their labels.

    A run that is labeled as a whole, or in which each labeled finding is wrong, is good. Of a run
    with a wrong finding before a loop, the part before the loop is good.
    """
    by_run: Dict[str, List[Label]] = {}
    for label in labels:
        by_run.setdefault(label.run_id, []).append(label)
    good: List[RecordedRun] = []
    stuck: List[Tuple[RecordedRun, Sequence[LabeledSteps]]] = []
    unlabeled, seen = 0, set()
    for run in runs:
        said = by_run.get(run.run_id)
        if not said:
            unlabeled += 1
            continue
        seen.add(run.run_id)
        loops = sorted(each.steps or (0, max(0, len(run) - 1)) for each in said if each.is_stuck)
        if loops:
            stuck.append((run, loops))
        wrong = [each for each in said if not each.is_stuck]
        if wrong:
            good.append(_until(run, loops[0][0]) if loops else run)
    return Reviewed(good, stuck, unlabeled, [each for each in by_run if each not in seen])


def _until(run: RecordedRun, step: int) -> RecordedRun:
    """Return the part of a run before a step."""
    before = History(run.calls, run.results, run.turn_starts, run.messages).until(step)
    opinions = tuple(each for each in run.opinions if each[0] < step)
    return replace(run, **vars(before), opinions=opinions)
