"""``antiloop report``: recorded runs as one HTML page."""

import argparse
import os
import sys
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Iterator, TextIO, Tuple

from .command import COULD_NOT_RUN, FOUND, add_command
from .detector import add_detector, detector_of
from .recordings import Recordings, add_recordings
from .terminal import complain, printable, say

if TYPE_CHECKING:
    from ..health import HealthProfile, HealthReport
    from ..traces import RecordedRun

_ABOUT = "Write recorded runs and their health as one HTML page."
_EXAMPLE = """\
The page needs no other file and no network. The same recordings make the same page.

example, from a clone of the repository:
  antiloop report docs/examples/runs.jsonl -o report.html
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "report", run, _ABOUT, _EXAMPLE)
    add_recordings(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="PAGE",
        default="report.html",
        help="where to write it, report.html if left out; - is standard output",
    )
    add_detector(parser)


def run(args: argparse.Namespace) -> int:
    """Judge the runs and write the page."""
    from .judged_run import profile_of

    try:
        profile = profile_of(detector_of(args))
    except ValueError as error:
        complain(str(error))
        return COULD_NOT_RUN
    recordings = Recordings(args.paths, args.source)
    states: Counter[str] = Counter()
    trouble = _write(_judged(recordings.runs(), profile, states), args.output)
    if trouble:
        complain(trouble)
        return COULD_NOT_RUN
    if args.output != "-":
        told = ", ".join(f"{number} {status.lower()}" for status, number in states.items())
        say(printable(f"{args.output}: {told or 'no runs'}"))
    if recordings.is_incomplete:
        return COULD_NOT_RUN
    return FOUND if states.keys() - {"Healthy"} else 0


def _write(judged: "Iterator[Tuple[RecordedRun, HealthReport]]", path: str) -> str:
    """Write the page, and say what went wrong, if anything did."""
    from ..report import write_page

    try:
        with _opened(path) as page:
            write_page(judged, page)
    except BrokenPipeError:
        raise
    except OSError as error:
        return f"{path}: {error.strerror}"
    return ""


def _judged(
    recordings: "Iterator[RecordedRun]", profile: "HealthProfile", states: "Counter[str]"
) -> "Iterator[Tuple[RecordedRun, HealthReport]]":
    """Yield each run with its health, and count the states."""
    from .judged_run import judge

    for recorded in recordings:
        health = judge(recorded, profile).health
        states[health.status.value] += 1
        yield recorded, health


@contextmanager
def _opened(path: str) -> Iterator[TextIO]:
    """Open the page for writing; it takes the place of an older one when it is complete."""
    if path == "-":
        yield sys.stdout
        return
    whole = os.path.realpath(path)
    # What is there already may be a device or a pipe, which is written to and not replaced.
    part = f"{whole}.part" if os.path.isfile(whole) or not os.path.exists(whole) else whole
    try:
        with open(part, "w", encoding="ascii", newline="\n") as page:
            yield page
        if part != whole:
            os.replace(part, whole)
    except BaseException:
        if part != whole and os.path.exists(part):
            os.unlink(part)
        raise
