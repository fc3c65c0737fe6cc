"""``antiloop report``: recorded runs as one HTML page."""

import argparse
import sys
from collections import Counter
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, ContextManager, Iterator, Optional, TextIO

from ..._replaced_file import named_folders, replaced_file
from .._arguments import add_output, add_recordings
from .._command import COULD_NOT_RUN, FOUND, CommandFailed, add_command, naming
from .._detector import add_detector, add_prices, detector_of, prices_of, profiles_of
from .._engines.parallel import add_engine
from .._named_judge import add_judge
from .._output.terminal import is_quiet, printable, tell
from .._recordings import Recordings

if TYPE_CHECKING:
    from ...health import HealthProfile
    from ...report import DrawnPart
    from ...traces import RecordedRun
    from .._judged_run import JudgedRun

    Parts = Iterator[DrawnPart]

_SMALL = 20_000_000
"""Bytes of recordings of which a page keeps all texts."""
_ROOM = 20_000_000
"""Bytes of the texts of a larger archive; with a line for each of 10,000 runs that is 30 MB."""

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
    parser = add_command(commands, "report", run, _ABOUT, _EXAMPLE)
    add_recordings(parser)
    about = "file to write, or - for standard output (default: report.html)"
    add_output(parser, about, "report.html", "PAGE")
    parser.add_argument(
        "--against",
        metavar="PATH",
        action="append",
        default=[],
        help="earlier runs to compare with; may be repeated",
    )
    parser.add_argument(
        "--only",
        choices=("stuck", "warning", "all"),
        metavar="RUNS",
        help="runs that keep their texts: stuck, warning (which includes stuck), or all; the others"
        " keep their line (default: all, or warning for more than 20 MB of recordings)",
    )
    add_engine(parser)
    add_prices(parser)
    add_detector(parser)
    add_judge(parser)


def run(args: argparse.Namespace) -> int:
    """Judge the runs and write the page."""
    from ...health import HealthStatus
    from .._judged_run import profile_of

    profiles = profiles_of(args)
    recordings = Recordings(args.paths, args.source, profiles)
    others = Recordings(args.against, args.source, profiles) if args.against else None
    only = args.only or _texts_kept(recordings, others)
    states: Counter[str] = Counter()
    changes: Counter[str] = Counter()
    profile = profile_of(detector_of(args), prices_of(args))
    parts = _parts(recordings, profile, args, only, states)
    against = None if others is None else _parts(others, profile, args, only, Counter())
    _write(parts, against, args.output, only, changes)
    if args.output != "-" and not is_quiet():
        counts = ", ".join(
            f"{states[each]} {each.lower()}" for each in HealthStatus if states[each]
        )
        compared = ", ".join(f"{count} {change}" for change, count in changes.items() if count)
        tell(printable(f"{args.output}: {counts}{'; ' * bool(changes)}{compared}"))
    if recordings.is_incomplete or (others and others.is_incomplete):
        return COULD_NOT_RUN
    return FOUND if states.keys() - {"Healthy"} else 0


def _texts_kept(*recordings: Optional[Recordings]) -> str:
    """Keep all texts of small recordings; a page of an archive must still open."""
    sizes = sum(each.size for each in recordings if each)
    return "all" if sizes <= _SMALL else "warning"


def _write(
    parts: "Parts", against: "Optional[Parts]", path: str, only: str, changes: "Counter[str]"
) -> None:
    """Write the page if there is a run to show."""
    from ...report import write_page

    shown = _not_empty(parts, path, "runs to show")
    earlier = None if against is None else _not_empty(against, path, "earlier runs to compare with")
    room = None if only == "all" else _ROOM
    with naming(path), _opened(path) as page:
        changes.update(write_page(shown, page, against=earlier, room=room))


def _not_empty(parts: "Parts", path: str, what: str) -> "Parts":
    """Return the same runs; the first one is read."""
    first = next(parts, None)
    if first is None:
        raise CommandFailed(f"{path}: not written because there are no {what}")
    return chain([first], parts)


def _parts(
    recordings: Recordings,
    profile: "HealthProfile",
    args: argparse.Namespace,
    only: str,
    states: "Counter[str]",
) -> "Parts":
    """Yield what the page holds of each run, and count the states."""
    from .._engines.scanning import judged_runs

    with closing(
        judged_runs(recordings, profile, args, partial(judge_and_draw, only=only))
    ) as runs:
        for judged in runs:
            states[judged.health.status.value] += 1
            if judged.part is not None:
                yield judged.part


def judge_and_draw(run: "RecordedRun", profile: "HealthProfile", only: str) -> "JudgedRun":
    """Judge a run as a scan does, and draw it, in whatever process."""
    from ...report import draw_run
    from .._judged_run import judge

    judged = judge(run, profile)
    priced = run.priced(profile.prices)
    part = draw_run(priced, judged.health, profile.detector.mask, only=only)
    return replace(judged, part=part)


def _opened(path: str) -> ContextManager[TextIO]:
    """Open the page for writing; it replaces an older one when it is complete."""
    if path == "-":
        return nullcontext(sys.stdout)
    return replaced_file(path, within=named_folders(path))
