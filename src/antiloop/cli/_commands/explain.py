"""``antiloop explain``: explain the verdict at a step of a recorded run, or why there is none."""

import argparse
import json
from typing import TYPE_CHECKING, Any, Iterator, Optional

from .._arguments import add_source
from .._command import FOUND, add_command, add_format
from .._detector import add_detector, detector_of, profiles_of
from .._named_judge import add_judge, consulted
from .._output.terminal import SeenIds, complain, say, tell_page
from .._recordings import Skipped

if TYPE_CHECKING:
    from ...traces import RecordedRun

_ABOUT = "Explain the verdict at a step of a recorded run, or why there is none."
_EXAMPLE = """\
The output shows what the window held at that step, which calls and results matched, what each
detector counted and how many it needs (- if it found nothing to count), what comes before the
counted calls, and the position of each loop on its ladder, with the last action in brackets.

The exit status is 0 if the step has no verdict, 1 if it has one, and 2 if there is no such run or
step.

example, from a clone of the repository:
  antiloop explain docs/examples/runs.jsonl --run refund-window --step 10
"""


def add(commands: Any) -> None:
    parser = add_command(commands, "explain", run, _ABOUT, _EXAMPLE)
    parser.add_argument("path", metavar="RUN", help="file with the run, or - for standard input")
    parser.add_argument(
        "--run",
        dest="run_name",
        metavar="ID",
        help="run to explain, if the file holds several: its id, or its place as PATH:LINE",
    )
    parser.add_argument(
        "--step",
        type=int,
        metavar="N",
        help="step to explain, counted from 0 (default: the first with a verdict, or the last)",
    )
    add_source(parser)
    add_format(parser, ("text", "json"))
    add_detector(parser)
    add_judge(parser)


def run(args: argparse.Namespace) -> int:
    from ...explanation import explain
    from .._output.explanation_output import as_json, as_text

    recorded, detector = _run_of(args), detector_of(args)
    recorded, asked = consulted(recorded, detector)
    explanation = explain(recorded, detector, args.step)
    if asked and asked.complaint:
        complain(asked.complaint)
    if args.format == "json":
        say(json.dumps(as_json(recorded, explanation), indent=2))
    else:
        tell_page(as_text(recorded, explanation))
    return FOUND if explanation.verdict.detection else 0


def _run_of(args: argparse.Namespace) -> "RecordedRun":
    """Read the run; raises ValueError if it is missing, or one of several without a name."""
    from ...traces import read_runs

    skipped, profiles = Skipped(args.path), profiles_of(args)
    runs = read_runs(args.path, source=args.source, on_trouble=skipped.tell, profiles=profiles)
    try:
        return _found(runs, args.path, args.run_name)
    finally:
        skipped.end()


def _found(runs: "Iterator[RecordedRun]", path: str, name: Optional[str]) -> "RecordedRun":
    if name is not None:
        return _named(runs, path, name)
    found = next(runs, None)
    if found is None:
        raise ValueError(f"{path}: no run in this file")
    other = next(runs, None)
    if other is not None:
        raise ValueError(
            f"{path}: several runs in this file, first {found.run_id!r} and {other.run_id!r};"
            " choose one with --run"
        )
    return found


def _named(runs: "Iterator[RecordedRun]", path: str, name: str) -> "RecordedRun":
    """Return the run with this place, or the only one with this id."""
    from ...exceptions import TraceUnreadable

    found, seen = None, SeenIds()
    try:
        for run in runs:
            seen.add(run.run_id)
            if run.source == name:
                return run
            if run.run_id != name:
                continue
            if found is not None:
                raise ValueError(
                    f"{path}: several runs {name!r} in this file, first at {found.source} and"
                    f" {run.source}; choose one with --run PATH:LINE"
                )
            found = run
    except TraceUnreadable:
        if found is None:
            raise
    if found is None:
        raise ValueError(f"{path}: no run {name!r} in this file; {seen}")
    return found
