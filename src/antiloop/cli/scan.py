"""``antiloop scan``: find loops in recorded runs."""

import argparse
from typing import TYPE_CHECKING, Any, Callable, Dict

from .command import COULD_NOT_RUN, FOUND, add_command
from .detector import add_detector, detector_of
from .recordings import Recordings, add_recordings
from .terminal import complain

if TYPE_CHECKING:
    from ..loop_detection import LoopDetector
    from .output import Writer

FORMATS = ("text", "json", "jsonl", "sarif")

_EXAMPLE = """\
The format of a file is recognised by what it holds, and gzip is unpacked. Steps count from 0.

The page ends with the runs by their health: their calls, the calls that brought nothing new, which
are those of each loop but its first lap, and, where the recordings tell them, what these took in
tokens, together with the replies of the model that asked for them, and what the runs cost.

example, from a clone of the repository:
  antiloop scan docs/examples/runs.jsonl
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "scan", run, "Find loops in recorded runs.", _EXAMPLE)
    add_recordings(parser)
    parser.add_argument("--format", choices=FORMATS, default="text", help="of what is printed")
    add_detector(parser)


def run(args: argparse.Namespace) -> int:
    """Scan the files and write what was found."""
    from .judged_run import judge, profile_of

    detector = detector_of(args)
    try:
        profile = profile_of(detector)
    except ValueError as error:
        complain(str(error))
        return COULD_NOT_RUN
    recordings = Recordings(args.paths, args.source)
    writer = _writer(args.format, detector)
    stuck = 0
    for recorded in recordings.runs():
        judged = judge(recorded, profile)
        stuck += bool(judged.verdicts)
        writer.run(judged)
    writer.end()
    if recordings.is_incomplete:
        return COULD_NOT_RUN
    return FOUND if stuck else 0


def _writer(name: str, detector: "LoopDetector") -> "Writer":
    from .output import JsonlWriter, JsonWriter, TextWriter
    from .sarif import SarifWriter

    writers: Dict[str, Callable[[], Writer]] = {
        "text": TextWriter,
        "json": JsonWriter,
        "jsonl": JsonlWriter,
        "sarif": lambda: SarifWriter(detector),
    }
    return writers[name]()
