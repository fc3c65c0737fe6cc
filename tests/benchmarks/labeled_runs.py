"""Recorded runs with labels that say where the agent is stuck, and how verdicts are counted.

`quality.py` describes the format and every figure.
"""

import gzip
import json
import statistics
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

from antiloop.cli._review.labels import read_labels, review
from antiloop.loop_detection import LoopDetector
from antiloop.traces import RecordedRun, read_runs, replay

STOPS = ("block", "conclude", "stop", "raise")
"""Actions that end a run, or that refuse the call."""
CONFIDENCES = ("high", "medium", "low")
Verdicts = Sequence[Tuple[int, str]]
"""Step and action, in order."""


class Segment(NamedTuple):
    """A stretch of a run in which the agent is stuck; steps are counted from 0."""

    start: int
    nudge_at: int
    stop_at: Optional[int]
    end: int
    is_wanted: bool
    """Whether it counts when it is missed: its confidence is not low."""
    why: str


@dataclass(frozen=True)
class LabeledRun:
    """A recorded run and where its agent is stuck."""

    run: RecordedRun
    corpus: str
    segments: Sequence[Segment]

    @property
    def wanted(self) -> List[Segment]:
        return [each for each in self.segments if each.is_wanted]


@dataclass
class Tally:
    """Counts over any number of runs."""

    counts: "Counter[str]" = field(default_factory=Counter)
    delays: List[int] = field(default_factory=list)
    troubles: List[str] = field(default_factory=list)
    """What is missed and what is false, one line each."""

    def add(self, other: "Tally") -> None:
        self.counts.update(other.counts)
        self.delays += other.delays
        self.troubles += other.troubles

    def figures(self) -> Dict[str, Optional[float]]:
        """Return the figures by their names; None where there is nothing to count."""
        return {
            "caught": self._ratio("caught", "wanted"),
            "stopped": self._ratio("stopped", "to stop"),
            "stop precision": self._ratio("right stops", "stopped runs"),
            "first word right": self._ratio("right words", "spoken runs"),
            "clean runs stopped": self._ratio("clean stopped", "clean"),
            "false notices per 1,000 steps": self._ratio("false notices", "steps", 1000, 3),
            "median delay, steps": statistics.median(self.delays) if self.delays else None,
        }

    def _ratio(self, part: str, whole: str, times: int = 1, digits: int = 4) -> Optional[float]:
        total = self.counts[whole]
        return round(times * self.counts[part] / total, digits) if total else None


def verdicts_on(run: RecordedRun, detector: LoopDetector) -> Verdicts:
    """Return what a detector says about a run, as ``antiloop scan`` does."""
    return [(step, verdict.action.value) for step, verdict in replay(run, detector)]


def score(labeled: LabeledRun, verdicts: Verdicts) -> Tally:
    """Count what one run adds to the figures."""
    tally = Tally(Counter({"steps": len(labeled.run), "clean": not labeled.wanted}))
    name = labeled.run.run_id
    for each in labeled.wanted:
        _score_segment(each, verdicts, tally, name)
    for step, action in verdicts:
        if not any(each.start <= step <= each.end + 1 for each in labeled.segments):
            tally.counts["false notices"] += 1
            tally.troubles.append(f"false {action}: {name}, step {step}")
    stops = [step for step, action in verdicts if action in STOPS]
    if verdicts:
        tally.counts["spoken runs"] += 1
        tally.counts["right words"] += _is_right(verdicts[0][0], labeled, "start")
    if stops:
        is_right = _is_right(stops[0], labeled, "nudge_at")
        tally.counts["stopped runs"] += 1
        tally.counts["right stops"] += is_right
        tally.counts["clean stopped"] += not is_right and not labeled.wanted
        tally.troubles += [] if is_right else [f"wrong stop: {name}, step {stops[0]}"]
    return tally


def _score_segment(each: Segment, verdicts: Verdicts, tally: Tally, name: str) -> None:
    tally.counts["wanted"] += 1
    inside = [step for step, _ in verdicts if each.start <= step <= each.end]
    if inside:
        tally.counts["caught"] += 1
        tally.delays.append(inside[0] - each.nudge_at)
    else:
        tally.troubles.append(f"missed: {name}, steps {each.start} to {each.end}: {each.why}")
    if each.stop_at is not None:
        is_stopped = any(a in STOPS and each.nudge_at <= step <= each.end for step, a in verdicts)
        tally.counts["to stop"] += 1
        tally.counts["stopped"] += is_stopped
        if inside and not is_stopped:
            tally.troubles.append(f"not stopped: {name}, steps {each.start} to {each.end}")


def _is_right(step: int, labeled: LabeledRun, since: str) -> bool:
    return any(getattr(each, since) <= step <= each.end + 1 for each in labeled.segments)


def _reviewed(path: Union[str, Path], labels: Union[str, Path]) -> List[LabeledRun]:
    """Read runs, and what people said about them in the report or with ``antiloop label``.

    Runs without a label are left out. A stretch that is labeled as stuck is right to stop from its
    third step on, as the first two may be the work that comes before a loop.
    """
    reviewed = review(read_runs(str(path)), read_labels(str(labels)))
    found = [LabeledRun(run, "", ()) for run in reviewed.good]
    for run, stretches in reviewed.stuck:
        segments = [
            Segment(first, first, min(first + 2, last), last, True, "labeled")
            for first, last in stretches
        ]
        found.append(LabeledRun(run, "", segments))
    return found


def read_labeled(
    path: Union[str, Path], said: Optional[Union[str, Path]] = None
) -> List[LabeledRun]:
    """Read runs and their labels, which are in the runs, or in a file of the report.

    Raises:
        ValueError: naming the line, for a label that is none.
    """
    if said is not None:
        return _reviewed(path, said)
    labels: Dict[str, Tuple[str, List[Segment]]] = {}
    for number, line in _lines_of(Path(path)):
        place = f"{path}:{number}"
        try:
            record = json.loads(line)
            corpus = str(record.get("corpus", ""))
            name, label = record["run_id"], record["label"]["segments"]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            wanted = '"run_id", "steps" and "label": {"segments": []}'
            raise ValueError(f"{place}: give one JSON object with {wanted}") from error
        if name in labels:
            raise ValueError(f"{place}: run {name!r} is there already; give each run its own id")
        labels[name] = corpus, [_segment(each, len(record["steps"]), place) for each in label]
    return [LabeledRun(run, *labels[run.run_id]) for run in read_runs(str(path))]


def _segment(given: Any, steps: int, place: str) -> Segment:
    try:
        start, end, confidence = given["start"], given["end"], given["confidence"]
        nudge_at, stop_at = given.get("nudge_at"), given.get("stop_at")
        nudge_at = start if nudge_at is None else nudge_at
        is_possible = 0 <= start <= nudge_at <= (end if stop_at is None else stop_at) <= end < steps
    except (AttributeError, KeyError, TypeError):
        is_possible, confidence = False, None
    if not is_possible or confidence not in CONFIDENCES:
        raise ValueError(
            f"{place}: a segment needs steps start <= nudge_at <= stop_at <= end that the run has, "
            f"and a confidence: {', '.join(CONFIDENCES)}"
        )
    return Segment(start, nudge_at, stop_at, end, confidence != "low", str(given.get("why", "")))


def _lines_of(path: Path) -> Iterator[Tuple[int, str]]:
    opener: Any = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        yield from ((number, line) for number, line in enumerate(file, 1) if line.strip())


def total(tallies: Iterable[Tally]) -> Tally:
    """Add up counts of single runs."""
    found = Tally()
    for each in tallies:
        found.add(each)
    return found
