"""``antiloop explain``: why a verdict fell at a step of a recorded run, or why none did."""

import argparse
import json
from typing import TYPE_CHECKING, Any, Iterator, Optional

from ..command import COULD_NOT_RUN, FOUND, add_command
from ..detector import add_detector, detector_of
from ..named_judge import add_judge, consulted
from ..output.skipped import Skipped
from ..output.terminal import complain, say, tell_page
from ..recordings import add_source

if TYPE_CHECKING:
    from ...traces import RecordedRun

_ABOUT = "Say why a verdict fell at a step of a recorded run, or why none did."
_EXAMPLE = """\
It tells what the window held at that step, which fingerprints matched, what each detector counted
and how much would have been too often (- where nothing came together that it looks for), what
stands before the calls that were counted, and where each loop stands on its ladder: the action that
it came to last is in brackets.

The exit status is 0 if nothing was said at that step, 1 if something was, 2 if there is no such run
or step.

example, from a clone of the repository:
  antiloop explain docs/examples/runs.jsonl --run refund-window --step 10
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "explain", run, _ABOUT, _EXAMPLE)
    parser.add_argument("path", metavar="RUN", help="a file with the run; - for standard input")
    parser.add_argument(
        "--run",
        dest="run_name",
        metavar="ID",
        help="which run, if it holds several: its id, or where it begins, as PATH:LINE",
    )
    parser.add_argument(
        "--step",
        type=int,
        metavar="N",
        help="which step, counted from 0; the first with a verdict if left out, or else the last",
    )
    add_source(parser)
    parser.add_argument(
        "--format",
        choices=("text", "json"),
        default="text",
        metavar="NAME",
        help="of the answer: %(choices)s (default: text)",
    )
    add_detector(parser)
    add_judge(parser)


def run(args: argparse.Namespace) -> int:
    """Explain one step."""
    from ...exceptions import TraceUnreadable
    from ...explanation import explain
    from ..output.explanation_output import as_json, as_text

    try:
        recorded = _run_of(args.path, args.source, args.run_name)
        detector = detector_of(args)
        recorded, asked = consulted(recorded, detector)
        told = explain(recorded, detector, args.step)
    except (TraceUnreadable, ValueError) as error:
        complain(str(error))
        return COULD_NOT_RUN
    if asked and asked.complaint:
        complain(asked.complaint)
    if args.format == "json":
        say(json.dumps(as_json(recorded, told), indent=2))
    else:
        tell_page(as_text(recorded, told))
    return FOUND if told.verdict.detection else 0


def _run_of(path: str, source: Optional[str], name: Optional[str]) -> "RecordedRun":
    """Read the run; raises ValueError where it is not there, or not the only one."""
    from ...traces import read_runs

    skipped = Skipped(path)
    try:
        return _found(read_runs(path, source=source, on_trouble=skipped.tell), path, name)
    finally:
        skipped.end()


def _found(runs: "Iterator[RecordedRun]", path: str, name: Optional[str]) -> "RecordedRun":
    if name is not None:
        found = next((run for run in runs if name in (run.run_id, run.source)), None)
        if found is None:
            raise ValueError(f"{path}: no run {name!r} here; antiloop scan lists what is stuck")
        return found
    found = next(runs, None)
    if found is None:
        raise ValueError(f"{path}: no run here")
    other = next(runs, None)
    if other is not None:
        raise ValueError(
            f"{path}: several runs here, {found.run_id!r} and {other.run_id!r} first;"
            " name one with --run"
        )
    return found
