"""``antiloop calibrate``: fit thresholds to recorded runs that went well."""

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any, List, Mapping, Optional

from ...replaced_file import named_folders, replaced_file
from ..command import COULD_NOT_RUN, FOUND, add_command, reason_of
from ..detector import add_detector, detector_of
from ..output.terminal import complain, is_watched, say, show_status, tell_page
from ..recordings import Recordings, add_recordings, path_to_write

if TYPE_CHECKING:
    from ...traces import RecordedRun

_ABOUT = "Fit thresholds to recorded good runs."
_EXAMPLE = """\
All recorded runs must be good runs. A detector that stops one of them makes a mistake; its
threshold is raised until the fraction of good runs that are stopped stays below --max-false-stops.

The exit status is 0 if the runs support that fraction, 1 if there are too few runs (the
configuration is written anyway), and 2 if something could not be read or written.

example, from a clone of the repository:
  antiloop calibrate --max-false-stops 0.1 docs/examples/good-runs.jsonl
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "calibrate", run, _ABOUT, _EXAMPLE)
    add_recordings(parser)
    add_detector(parser)
    parser.add_argument(
        "--max-false-stops",
        type=_share,
        default=0.01,
        metavar="SHARE",
        help="largest fraction of good runs that may be interrupted (default: 0.01)",
    )
    parser.add_argument(
        "--confidence",
        type=_share,
        default=0.95,
        metavar="SHARE",
        help="confidence that the true fraction stays below it (default: 0.95)",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=path_to_write,
        metavar="FILE",
        help="file for the configuration; with - it goes to standard output and the report to"
        " standard error",
    )
    parser.add_argument(
        "--format",
        choices=("text", "json"),
        default="text",
        metavar="NAME",
        help="format of the report: %(choices)s (default: text)",
    )


def run(args: argparse.Namespace) -> int:
    """Calibrate, write the configuration, and report."""
    from ...calibration import calibrate
    from ..output.calibration_report import as_json, as_text

    runs = _good_runs(args)
    if runs is None:
        return COULD_NOT_RUN
    done = calibrate(
        runs,
        detector_of(args),
        max_false_stops=args.max_false_stops,
        confidence=args.confidence,
        on_progress=show_status if is_watched() else lambda _: None,
    )
    report = json.dumps(as_json(done), indent=2) if args.format == "json" else as_text(done)
    show_status("")
    if args.output == "-":
        sys.stderr.write(report + "\n")
    elif args.format == "json":
        say(report)
    else:
        tell_page(report)
    if args.output is not None and not _write(args.output, done.config):
        return COULD_NOT_RUN
    return 0 if done.holds else FOUND


def _good_runs(args: argparse.Namespace) -> "Optional[List[RecordedRun]]":
    """Read all runs; None if a file is unreadable, because the figures would mislead."""
    recordings = Recordings(args.paths, args.source)
    runs = list(recordings.runs())
    if not runs and not recordings.is_incomplete:
        complain(f"{args.paths[0]}: no recorded runs to calibrate with")
    return None if recordings.is_incomplete or not runs else runs


def _write(path: str, config: Mapping[str, Any]) -> bool:
    text = json.dumps(config, indent=2)
    if path == "-":
        say(text)
        return True
    try:
        with replaced_file(path, within=named_folders(path)) as file:
            file.write(text + "\n")
    except OSError as error:
        complain(f"{path}: {reason_of(error)}")
        return False
    return True


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise argparse.ArgumentTypeError(f"must be between 0 and 1, both excluded, got {text!r}")
    return share
