"""``antiloop scan``: find loops in recorded runs."""

import argparse
from contextlib import closing
from typing import TYPE_CHECKING, Any, Callable, Dict, Generator, Tuple

from .command import COULD_NOT_RUN, FOUND, add_command
from .detector import add_detector, detector_of
from .engines import EngineFailed, add_engine
from .recordings import Recordings, add_recordings
from .terminal import complain

if TYPE_CHECKING:
    from ..loop_detection import LoopDetector
    from .judged_run import JudgedRun
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
    add_engine(parser)
    add_detector(parser)


def run(args: argparse.Namespace) -> int:
    """Scan the files and write what was found."""
    from .judged_run import profile_of
    from .scanning import judged_runs

    detector = detector_of(args)
    recordings = Recordings(args.paths, args.source)
    try:
        runs = judged_runs(recordings, profile_of(detector), args)
        seen, stuck = _write(runs, _writer(args.format, detector))
    except (EngineFailed, ValueError) as error:
        complain(str(error))
        return COULD_NOT_RUN
    if not (seen or recordings.is_incomplete):
        complain("no recorded runs in what was given, so nothing was looked at")
    if recordings.is_incomplete or not seen:
        return COULD_NOT_RUN
    return FOUND if stuck else 0


def _write(runs: "Generator[JudgedRun, None, None]", writer: "Writer") -> Tuple[int, int]:
    """Write the runs as they come; count them, and those that got stuck."""
    seen = stuck = 0
    with closing(runs):  # whatever happens, nothing goes on working on them
        for judged in runs:
            seen += 1
            stuck += bool(judged.verdicts)
            writer.run(judged)
    writer.end()
    return seen, stuck


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
