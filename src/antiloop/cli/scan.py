"""``antiloop scan``: find loops in recorded runs."""

import argparse
from typing import Any

from .command import COULD_NOT_RUN, FOUND, add_command
from .detector import add_detector, detector_of
from .recordings import Recordings, add_recordings

_EXAMPLE = """\
The format of a file is recognised by what it holds, and gzip is unpacked. Steps count from 0.

example, from a clone of the repository:
  antiloop scan docs/examples/runs.jsonl
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "scan", run, "Find loops in recorded runs.", _EXAMPLE)
    add_recordings(parser)
    parser.add_argument(
        "--format", choices=("text", "json", "jsonl"), default="text", help="of what is printed"
    )
    add_detector(parser)


def run(args: argparse.Namespace) -> int:
    """Scan the files and write what was found."""
    from ..traces import replay
    from .output import WRITERS

    detector = detector_of(args)
    writer = WRITERS[args.format]()
    recordings = Recordings(args.paths, args.source)
    stuck = 0
    for recorded in recordings.runs():
        verdicts = list(replay(recorded, detector))
        stuck += bool(verdicts)
        writer.run(recorded, verdicts)
    writer.end()
    if recordings.is_incomplete:
        return COULD_NOT_RUN
    return FOUND if stuck else 0
