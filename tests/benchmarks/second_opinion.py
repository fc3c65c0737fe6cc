"""What a second opinion brings: verdicts with judges of known quality, on labeled runs.

    python tests/benchmarks/second_opinion.py LABELED.jsonl.gz                 # dev figures
    python tests/benchmarks/second_opinion.py LABELED.jsonl.gz --quiet RUNS.jsonl.gz
    python tests/benchmarks/second_opinion.py LABELED.jsonl.gz --left-out      # by corpus

LABELED holds one run a line, with ``label.segments`` of ``start``, ``nudge_at``, ``stop_at``,
``end`` and ``confidence``. The judges: nobody; one that knows the labels; one that is sure in three
cases of four and right in 96 % of those, by a fixed seed; one that always fails. ``--left-out``
chooses bound and gap without each corpus in turn, and scores that corpus with what was chosen.
"""

import argparse
import gzip
import json
import random
import statistics
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Set, Tuple

from antiloop.loop_detection import CaseFile, LoopAction, LoopDetector, Opinion, SecondOpinion
from antiloop.traces import RecordedRun, read_runs

Segment = Dict[str, Any]
Verdicts = List[Tuple[int, str]]
Judge = Callable[[CaseFile], Optional[Opinion]]
STOPS = ("block", "stop", "raise")
GRID = [(bound, gap) for bound in (0.4, 0.45, 0.5, 0.6) for gap in (4, 6, 8)]
MOST_QUESTIONS = 25.0
"""For 1,000 steps, where bound and gap are chosen."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("labeled")
    parser.add_argument("--quiet", help="sessions that went well: questions and verdicts there")
    parser.add_argument("--leave", help="a JSON file with run ids of --quiet that are left out")
    parser.add_argument("--left-out", action="store_true")
    parser.add_argument("--confirm", action="store_true")
    options = parser.parse_args()
    labels = segments_of(options.labeled)
    corpora = corpora_of(options.labeled)
    runs = list(read_runs(options.labeled))
    if options.left_out:
        print_left_out(runs, labels, corpora)
        return
    for name, make in JUDGES.items():
        found = {}
        for run in runs:
            judge = make(labels[run.run_id]) if make else None
            found[run.run_id] = watched(run, judge, confirm=options.confirm)
        print(f"{name:12}", figures(runs, found, labels))
    if options.quiet:
        leave = set(json.loads(Path(options.leave).read_text())) if options.leave else set()
        print_quiet(options.quiet, leave, options.confirm)


def knowing(segments: Sequence[Segment]) -> Judge:
    """Judge by the labels: stuck from where a word to the agent is justified."""
    return lambda case: Opinion(is_stuck(segments, case.step), 1.0, "the labels say so")


def seeded(segments: Sequence[Segment]) -> Judge:
    """Judge as a reader of excerpts did: sure in three of four cases, right in 96 % of these."""

    def judge(case: CaseFile) -> Opinion:
        dice = random.Random(f"{case.run_id} {case.step}")
        is_sure, is_right = dice.random() < 0.75, dice.random() < 0.96
        return Opinion(is_stuck(segments, case.step) == is_right, 0.9 if is_sure else 0.5)

    return judge


def failing(case: CaseFile) -> None:
    raise TimeoutError(f"no answer about step {case.step}")


JUDGES: Dict[str, Any] = {
    "nobody": None,
    "labels": knowing,
    "96 % of 3/4": seeded,
    "failing": lambda _: failing,
}


def is_stuck(segments: Sequence[Segment], step: int) -> bool:
    return any((s["nudge_at"] or s["start"]) <= step <= s["end"] for s in segments)


def watched(
    run: RecordedRun, judge: Optional[Judge], bound: float = 0.0, gap: int = 0, *, confirm: bool
) -> Tuple[Verdicts, int]:
    """Give the verdicts on a run, and how many questions were asked."""
    chosen = {name: value for name, value in (("suspicion", bound), ("gap", gap)) if value}
    opinion = judge and SecondOpinion(judge, confirm=confirm, **chosen)
    monitor = LoopDetector.escalating(second_opinion=opinion).monitor()
    monitor.consultation.run_id = run.run_id
    spoken, verdicts, questions = set(run.turn_starts), [], 0
    for start, stop in run.rounds():
        if start in spoken:
            monitor.user_message()
        verdict = monitor.after(run.calls[start:stop], run.results[start:stop])
        if verdict.case is not None and judge is not None:
            questions += 1
            verdict = monitor.answer(asked(judge, verdict.case))
        if verdict.action is not LoopAction.CONTINUE:
            verdicts.append((stop - 1, verdict.action.value))
    return verdicts, questions


def asked(judge: Judge, case: CaseFile) -> Optional[Opinion]:
    try:
        return judge(case)
    except TimeoutError:
        return None


def figures(
    runs: Iterable[RecordedRun],
    found: Dict[str, Tuple[Verdicts, int]],
    labels: Dict[str, List[Segment]],
) -> str:
    """Give the figures as one line."""
    tally: Counter[str] = Counter()
    delays: List[int] = []
    for run in runs:
        verdicts, questions = found[run.run_id]
        tally["steps"] += len(run)
        tally["questions"] += questions
        score(verdicts, labels[run.run_id], tally, delays)
    share = partial(_share, tally)
    per_thousand = 1000 / max(1, tally["steps"])
    return (
        f"caught {share('caught', 'wanted')}  stopped {share('stopped', 'to_stop')}"
        f"  stop precision {share('right', 'stops')}"
        f"  false notices {tally['false'] * per_thousand:.2f}"
        f"  false stops of clean runs {share('false_clean', 'clean')}"
        f"  median delay {statistics.median(delays) if delays else None}"
        f"  questions {tally['questions'] * per_thousand:.1f}"
    )


def score(
    verdicts: Verdicts, segments: Sequence[Segment], tally: "Counter[str]", delays: List[int]
) -> None:
    """Count what one run adds to the figures."""
    wanted = [each for each in segments if each["confidence"] != "low"]
    stops = [step for step, action in verdicts if action in STOPS]
    tally["wanted"] += len(wanted)
    tally["clean"] += not wanted
    for each in wanted:
        inside = [step for step, _ in verdicts if each["start"] <= step <= each["end"]]
        tally["caught"] += bool(inside)
        delays += [step - each["nudge_at"] for step in inside[:1]]
        if each["stop_at"] is not None:
            tally["to_stop"] += 1
            tally["stopped"] += any(each["nudge_at"] <= step <= each["end"] for step in stops)
    tally["false"] += sum(
        not any(each["start"] <= step <= each["end"] + 1 for each in segments)
        for step, _ in verdicts
    )
    if stops:
        is_right = any((e["nudge_at"] or e["start"]) <= stops[0] <= e["end"] + 1 for e in segments)
        tally["stops"] += 1
        tally["right"] += is_right
        tally["false_clean"] += not is_right and not wanted


def print_left_out(
    runs: List[RecordedRun], labels: Dict[str, List[Segment]], corpora: Dict[str, str]
) -> None:
    """Choose bound and gap without each corpus in turn, and print the figures of all together."""
    tried = {
        (bound, gap): {
            run.run_id: watched(run, knowing(labels[run.run_id]), bound, gap, confirm=False)
            for run in runs
        }
        for bound, gap in GRID
    }
    together: Dict[str, Tuple[Verdicts, int]] = {}
    for corpus in sorted(set(corpora.values())):
        rest = [run for run in runs if corpora[run.run_id] != corpus]
        best = max(GRID, key=lambda chosen: worth(rest, tried[chosen], labels))
        print(f"without {corpus:24} bound {best[0]}, gap {best[1]}")
        together.update((i, tried[best][i]) for i, name in corpora.items() if name == corpus)
    print("left out in turn:", figures(runs, together, labels))


def worth(
    runs: List[RecordedRun],
    found: Dict[str, Tuple[Verdicts, int]],
    labels: Dict[str, List[Segment]],
) -> float:
    """Give the share of loops that are caught; less where too many questions are asked."""
    tally: Counter[str] = Counter()
    for run in runs:
        score(found[run.run_id][0], labels[run.run_id], tally, [])
    asked_for = 1000 * sum(found[run.run_id][1] for run in runs) / sum(map(len, runs))
    return tally["caught"] / tally["wanted"] - max(0.0, asked_for - MOST_QUESTIONS)


def print_quiet(path: str, leave: Set[str], confirm: bool) -> None:
    """Print questions and verdicts on sessions that went well, with a judge that says so."""
    steps = questions = spoken = sessions = stopped = 0
    for run in read_runs(path):
        if run.run_id in leave:
            continue
        verdicts, number = watched(run, lambda _: Opinion(False), confirm=confirm)
        sessions, steps, questions = sessions + 1, steps + len(run), questions + number
        spoken += bool(verdicts)
        stopped += any(action in STOPS for _, action in verdicts)
    rate = 1000 * questions / max(1, steps)
    print(
        f"quiet: {sessions} sessions, {rate:.1f} questions for 1,000 steps,"
        f" {spoken} hear a word, {stopped} are stopped"
    )


def segments_of(path: str) -> Dict[str, List[Segment]]:
    return {run["run_id"]: run["label"]["segments"] for run in lines_of(path)}


def corpora_of(path: str) -> Dict[str, str]:
    return {run["run_id"]: run.get("corpus", "") for run in lines_of(path)}


def lines_of(path: str) -> Iterable[Dict[str, Any]]:
    opener: Any = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        yield from (json.loads(line) for line in file if line.strip())


def _share(tally: "Counter[str]", part: str, whole: str) -> str:
    return f"{tally[part] / tally[whole]:.3f}" if tally[whole] else "-"


if __name__ == "__main__":
    main()
