"""``antiloop report``: recorded runs as one HTML page."""

import argparse
import sys
from collections import Counter
from contextlib import nullcontext
from itertools import chain
from typing import TYPE_CHECKING, Any, ContextManager, Iterator, Optional, TextIO, Tuple

from ...replaced_file import named_folders, replaced_file
from ..command import COULD_NOT_RUN, FOUND, add_command, reason_of
from ..detector import add_detector, add_prices, detector_of, prices_of
from ..named_judge import Asked, add_judge
from ..output.terminal import complain, is_quiet, printable, tell
from ..recordings import Recordings, add_recordings, path_to_write

if TYPE_CHECKING:
    from ...health import HealthProfile, HealthReport
    from ...loop_detection.text.masking import MaskRule
    from ...traces import RecordedRun

    Judged = Iterator[Tuple[RecordedRun, HealthReport]]

_ABOUT = "Write an HTML page about recorded runs and their health."
_EXAMPLE = """\
The page needs no other file and no network. The same recordings make the same page. A new page
replaces an older one when it is complete; if no run can be read, the older page stays. If PAGE is a
link, its target is replaced if it is in the folder of the link or in the working folder.

With --against, runs with the same id are compared: PATH holds the new runs, --against the runs from
before a change of the prompt, the model or the tools. A run is better if its score is higher. The
exit status depends on the new runs only. If no earlier run can be read, the older page stays.

examples, from a clone of the repository:
  antiloop report docs/examples/runs.jsonl -o ab.html --against docs/examples/good-runs.jsonl
  antiloop report docs/examples/runs.jsonl -o report.html
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "report", run, _ABOUT, _EXAMPLE)
    add_recordings(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=path_to_write,
        metavar="PAGE",
        default="report.html",
        help="file to write, or - for standard output (default: report.html)",
    )
    parser.add_argument(
        "--against",
        metavar="PATH",
        action="append",
        default=[],
        help="earlier runs to compare with; may be repeated",
    )
    add_prices(parser)
    add_detector(parser)
    add_judge(parser)


def run(args: argparse.Namespace) -> int:
    """Judge the runs and write the page."""
    from ...health import HealthStatus
    from ..judged_run import profile_of

    try:
        profile = profile_of(detector_of(args), prices_of(args))
    except ValueError as error:
        complain(str(error))
        return COULD_NOT_RUN
    recordings = Recordings(args.paths, args.source)
    others = Recordings(args.against, args.source) if args.against else None
    states: Counter[str] = Counter()
    judged = _judged(recordings.runs(), profile, states)
    against = _judged(others.runs(), profile, Counter()) if others else None
    changes: Counter[str] = Counter()
    trouble = _write(judged, against, args.output, profile.detector.mask, changes)
    if trouble:
        complain(f"{args.output}: {trouble}")
        return COULD_NOT_RUN
    if args.output != "-" and not is_quiet():
        counts = ", ".join(
            f"{states[each]} {each.lower()}" for each in HealthStatus if states[each]
        )
        compared = "; " * bool(changes) + _counted(changes)
        tell(printable(f"{args.output}: {counts}{compared}"))
    if recordings.is_incomplete or (others and others.is_incomplete):
        return COULD_NOT_RUN
    return FOUND if states.keys() - {"Healthy"} else 0


def _counted(changes: "Counter[str]") -> str:
    return ", ".join(f"{count} {change}" for change, count in changes.items() if count)


def _write(
    judged: "Judged",
    against: "Optional[Judged]",
    path: str,
    mask: "MaskRule",
    changes: "Counter[str]",
) -> str:
    """Write the page if there is a run to show; return what went wrong, if anything."""
    from ...report import write_page

    shown = _unless_empty(judged)
    if shown is None:
        return "not written because there are no runs to show"
    earlier = None if against is None else _unless_empty(against)
    if against is not None and earlier is None:
        return "not written because there are no earlier runs to compare with"
    try:
        with _opened(path) as page:
            changes.update(write_page(shown, page, mask, against=earlier))
    except BrokenPipeError:
        raise
    except OSError as error:
        return reason_of(error)
    return ""


def _unless_empty(judged: "Judged") -> "Optional[Judged]":
    """Return the same runs, None if there are none; the first one is read."""
    first = next(judged, None)
    return None if first is None else chain([first], judged)


def _judged(
    recordings: "Iterator[RecordedRun]", profile: "HealthProfile", states: "Counter[str]"
) -> "Judged":
    """Yield each run with its health, and count the states."""
    from ...traces.priced import priced
    from ..judged_run import judge

    asked = Asked()
    for recorded in recordings:
        judged = judge(recorded, profile)
        asked += judged.asked or Asked()
        states[judged.health.status.value] += 1
        yield priced(recorded, profile.prices), judged.health
    if asked.complaint:
        complain(asked.complaint)


def _opened(path: str) -> ContextManager[TextIO]:
    """Open the page for writing; it replaces an older one when it is complete."""
    if path == "-":
        return nullcontext(sys.stdout)
    return replaced_file(path, within=named_folders(path))
