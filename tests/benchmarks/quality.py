"""How well the presets find loops: figures on labeled runs, and on sessions that went well.

    python tests/benchmarks/quality.py LABELED                      # the figures of both presets
    python tests/benchmarks/quality.py LABELED --quiet SESSIONS     # how they disturb good work
    python tests/benchmarks/quality.py RUNS --labels FILE           # by labels of the report
    python tests/benchmarks/quality.py LABELED --left-out           # without each corpus in turn
    python tests/benchmarks/quality.py LABELED --detectors          # without each detector in turn
    python tests/benchmarks/quality.py LABELED --troubles           # what is missed or false
    python tests/benchmarks/quality.py LABELED --curve quality.svg  # precision over recall

LABELED is JSON Lines, gzipped if its name ends in ``.gz``, one run a line::

    {"run_id": "r1", "corpus": "support", "steps": [
        {"tool_name": "search", "arguments": {"q": "a"}, "result": "Nothing.", "round": 0}],
     "label": {"segments": [
        {"start": 4, "nudge_at": 6, "stop_at": 8, "end": 12, "confidence": "high", "why": "..."}]}}

The steps are those of antiloop's own format: `antiloop` reads them, and
``RecordedRun.to_jsonl()`` writes them. Calls of one reply share a ``round``. ``corpus`` says where
the run comes from. A segment is a stretch in which the agent is stuck, in steps counted from 0:

- ``start``: the first step that brings nothing;
- ``nudge_at``: from here a word to the agent is justified; ``start`` where left out;
- ``stop_at``: from here it is right to end the run; null where the agent gets out by itself;
- ``end``: the last step that brings nothing;
- ``confidence``: high, medium or low. A segment of low confidence is not wanted: to miss it costs
  nothing, and to find it neither.

A run that goes well has no segments. SESSIONS are runs that went well, in any format that
``antiloop scan`` reads; ``--leave`` names a JSON file with the ids of those that are left out.

Every run is judged from its first step to its last, as ``antiloop scan`` does. The figures:

- caught: wanted segments with a verdict in [start, end] / wanted segments;
- stopped: those with a block, a stop or a raise in [nudge_at, end] / those with a ``stop_at``;
- stop precision: runs stopped for the first time in [nudge_at, end + 1] / runs stopped;
- first word right: runs spoken to for the first time in [start, end + 1] / runs spoken to;
- clean runs stopped: runs without a wanted segment that are stopped wrongly / these runs;
- false notices: verdicts outside of [start, end + 1] of every segment, for 1,000 steps;
- median delay: from ``nudge_at`` to the first verdict in a segment; below 0 is early.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Callable, Dict, List, Optional, Sequence, Tuple

from labeled_runs import (
    STOPS,
    LabeledRun,
    Tally,
    read_labeled,
    score,
    total,
    verdicts_on,
)
from threshold_curve import curves_of, draw

from antiloop import LoopDetector
from antiloop.traces import read_runs

PRESETS: Dict[str, Callable[[], LoopDetector]] = {
    "default": LoopDetector.default,
    "escalating": LoopDetector.escalating,
}
Row = Tuple[str, Sequence[Optional[float]]]
"""What is left out, and the figures without it."""


def main(arguments: Optional[Sequence[str]] = None) -> None:
    options = _parser().parse_args(arguments)
    try:
        labeled = read_labeled(options.labeled, options.labels)
    except (OSError, ValueError) as error:
        sys.exit(f"quality: {error}")
    if options.curve:
        curves = {}
        for name, make in PRESETS.items():
            curves.update(curves_of(name, make(), labeled))
        options.curve.write_text(draw(curves), encoding="utf-8")
        return
    tallies = {
        name: [score(each, verdicts_on(each.run, make())) for each in labeled]
        for name, make in PRESETS.items()
    }
    columns = {name: _figures(total(each)) for name, each in tallies.items()}
    if options.quiet:
        leave = set(json.loads(options.leave.read_text("utf-8"))) if options.leave else set()
        for name, figures in disturbed(options.quiet, leave).items():
            columns[name].update(figures)
    _print_table(columns)
    for name, each in tallies.items():
        if options.left_out:
            _print_left_out(name, labeled, each)
        if options.detectors:
            _print_detectors(name, labeled)
        if options.troubles:
            print("", name, *total(each).troubles, sep="\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("labeled", type=Path)
    parser.add_argument(
        "--labels", metavar="FILE", type=Path, help="of the report or antiloop label, for any runs"
    )
    parser.add_argument("--quiet", metavar="SESSIONS", type=Path)
    parser.add_argument("--leave", metavar="FILE", type=Path, help="ids of SESSIONS to leave out")
    parser.add_argument("--left-out", action="store_true")
    parser.add_argument("--detectors", action="store_true")
    parser.add_argument("--troubles", action="store_true")
    parser.add_argument("--curve", metavar="FILE", type=Path, help="draw an SVG, and no more")
    return parser


def disturbed(path: Path, leave: "set[str]") -> Dict[str, Dict[str, str]]:
    """Count the sessions that hear a word, and those that are stopped, for each preset."""
    detectors = {name: make() for name, make in PRESETS.items()}
    heard, stopped, sessions = dict.fromkeys(PRESETS, 0), dict.fromkeys(PRESETS, 0), 0
    for run in read_runs(str(path)):
        if run.run_id in leave:
            continue
        sessions += 1
        for name, detector in detectors.items():
            actions = [action for _, action in verdicts_on(run, detector)]
            heard[name] += bool(actions)
            stopped[name] += any(action in STOPS for action in actions)
    return {
        name: {
            f"of {sessions} quiet sessions: heard": str(heard[name]),
            f"of {sessions} quiet sessions: stopped": str(stopped[name]),
        }
        for name in PRESETS
    }


def _figures(tally: Tally) -> Dict[str, str]:
    counts = tally.counts
    whole = {"caught": "wanted", "stopped": "to stop", "clean runs stopped": "clean"}
    return {
        f"{name} (of {counts[whole[name]]})" if name in whole else name: _shown(figure)
        for name, figure in tally.figures().items()
    }


def _shown(figure: Optional[float]) -> str:
    return "-" if figure is None else f"{figure:g}"


def _print_table(columns: Dict[str, Dict[str, str]]) -> None:
    print(f"{'':34}", *(f"{name:>11}" for name in columns))
    for label in columns[next(iter(columns))]:
        print(f"{label:34}", *(f"{figures[label]:>11}" for figures in columns.values()))


def _print_left_out(preset: str, labeled: Sequence[LabeledRun], tallies: Sequence[Tally]) -> None:
    """Print the figures without each corpus in turn, the lowest and highest of each first."""
    rows: List[Row] = []
    for corpus in sorted({each.corpus for each in labeled}):
        rest = [tally for each, tally in zip(labeled, tallies) if each.corpus != corpus]
        rows.append((corpus, list(total(rest).figures().values())))
    figures = [[one for one in column if one is not None] for column in zip(*(r for _, r in rows))]
    for name, pick in (("maximum", max), ("minimum", min)):
        rows.insert(0, (name, [pick(column) if column else None for column in figures]))
    _print_rows(preset, rows)


def _print_detectors(preset: str, labeled: Sequence[LabeledRun]) -> None:
    """Print the figures without each detector in turn."""
    rows: List[Row] = []
    for name in (each.name for each in PRESETS[preset]().detectors):
        detector = without(PRESETS[preset](), name)
        tally = total(score(each, verdicts_on(each.run, detector)) for each in labeled)
        rows.append((name, list(tally.figures().values())))
    _print_rows(preset, rows)


def without(detector: LoopDetector, name: str) -> LoopDetector:
    """Return a detector of loops that lacks one of its detectors."""
    config = detector.to_config()
    config["detectors"] = [
        options for options in config["detectors"] if options.get("name", options["type"]) != name
    ]
    return LoopDetector.from_config(config)


def _print_rows(preset: str, rows: Sequence[Row]) -> None:
    heads = ("caught", "stopped", "precision", "first word", "clean", "notices", "delay")
    print(f"\n{preset + ', without':24}", *(f"{head:>10}" for head in heads))
    for name, row in rows:
        print(f"{name:24}", *(f"{_shown(figure):>10}" for figure in row))


if __name__ == "__main__":
    main()
