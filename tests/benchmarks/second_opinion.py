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
import json
import random
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Set, Tuple

from labeled_runs import STOPS, LabeledRun, Segment, Tally, Verdicts, read_labeled, score, total

from antiloop.loop_detection import CaseFile, LoopAction, LoopDetector, Opinion, SecondOpinion
from antiloop.traces import RecordedRun, read_runs

Judge = Callable[[CaseFile], Optional[Opinion]]
GRID = [(bound, gap) for bound in (0.36, 0.4, 0.45, 0.5) for gap in (3, 4, 5)]
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
    runs = read_labeled(options.labeled)
    if options.left_out:
        print_left_out(runs)
        return
    for name, make in JUDGES.items():
        found = [judged(each, make and make(each.segments), options.confirm) for each in runs]
        print(f"{name:12}", figures(found))
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
    return any(each.nudge_at <= step <= each.end for each in segments)


def watched(
    run: RecordedRun, judge: Optional[Judge], bound: float = 0.0, gap: int = 0, *, confirm: bool
) -> Tuple[Verdicts, int]:
    """Return the verdicts on a run, and how many questions were asked."""
    chosen = {name: value for name, value in (("suspicion", bound), ("gap", gap)) if value}
    opinion = judge and SecondOpinion(judge, confirm=confirm, **chosen)
    monitor = LoopDetector.escalating(second_opinion=opinion).monitor(run_id=run.run_id)
    spoken, questions = set(run.turn_starts), 0
    verdicts: List[Tuple[int, str]] = []
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


def judged(
    labeled: LabeledRun,
    judge: Optional[Judge],
    confirm: bool = False,
    bound: float = 0.0,
    gap: int = 0,
) -> Tally:
    """Count what one run adds to the figures, and its questions."""
    verdicts, questions = watched(labeled.run, judge, bound, gap, confirm=confirm)
    tally = score(labeled, verdicts)
    tally.counts["questions"] = questions
    return tally


def figures(tallies: Iterable[Tally]) -> str:
    """Return the figures as one line."""
    tally = total(tallies)
    found = tally.figures()
    return (
        f"caught {found['caught']:.3f}  stopped {found['stopped']:.3f}"
        f"  stop precision {found['stop precision']:.3f}"
        f"  false notices {found['false notices per 1,000 steps']:.2f}"
        f"  false stops of clean runs {found['clean runs stopped']:.3f}"
        f"  median delay {found['median delay, steps']}"
        f"  questions {question_rate(tally):.1f}"
    )


def question_rate(tally: Tally) -> float:
    """Return the questions for 1,000 steps."""
    return 1000 * tally.counts["questions"] / max(1, tally.counts["steps"])


def print_left_out(runs: Sequence[LabeledRun]) -> None:
    """Choose bound and gap without each corpus in turn, and print the figures of all together."""
    tried = {
        (bound, gap): [judged(each, knowing(each.segments), False, bound, gap) for each in runs]
        for bound, gap in GRID
    }
    together: List[Tally] = []
    for corpus in sorted({each.corpus for each in runs}):
        is_left_out = [each.corpus == corpus for each in runs]
        best = max(GRID, key=lambda chosen: worth(tried[chosen], is_left_out))
        print(f"without {corpus:24} bound {best[0]}, gap {best[1]}")
        together += [each for each, out in zip(tried[best], is_left_out) if out]
    print("left out in turn:", figures(together))


def worth(tallies: Sequence[Tally], is_left_out: Sequence[bool]) -> float:
    """Return the shares of loops caught and stopped; less where too many questions are asked."""
    rest = total(each for each, out in zip(tallies, is_left_out) if not out)
    caught = rest.counts["caught"] / rest.counts["wanted"]
    stopped = rest.counts["stopped"] / rest.counts["to stop"]
    return caught + stopped - max(0.0, question_rate(rest) - MOST_QUESTIONS)


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


if __name__ == "__main__":
    main()
