"""``antiloop summary``: what runs did and wasted, by agent, model and tool."""

import argparse
import json
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

from .._arguments import add_recordings
from .._command import COULD_NOT_RUN, add_command, add_format
from .._detector import add_detector, add_prices, detector_of, prices_of, profiles_of
from .._engines.parallel import add_engine
from .._output.terminal import complain, say
from .._recordings import Recordings
from .._summary.period import Period, Since

if TYPE_CHECKING:
    from ...loop_detection import LoopDetector
    from .._summary.summary import Summary

FORMATS = ("text", "json", "html")

_ABOUT = "Count runs, loops and waste by agent, model and tool, and compare with the period before."
_EXAMPLE = """\
The period begins at --since and ends now. It is compared with the period before, which is as long.
A run counts in the period in which it began. Runs without any time count, but in no trend. A run
counts for the first agent and the first model in its recording. Wasted calls are the calls of a
loop after its first lap. The share is wasted calls divided by all calls. The trend is the change of
the share in percentage points.

The exit status is 0, or 2 if something cannot be read.

example, from a clone of the repository:
  antiloop summary --since 2025-01-01 docs/examples
"""


def add(commands: Any) -> None:
    parser = add_command(commands, "summary", run, _ABOUT, _EXAMPLE)
    add_recordings(parser)
    parser.add_argument(
        "--since",
        type=Since.read,
        default="7d",
        metavar="WHEN",
        help="start of the period: days as 7d, hours as 24h, or a date as 2026-01-31 in UTC"
        " (default: 7d)",
    )
    parser.add_argument(
        "--report",
        type=_address,
        default="",
        metavar="PAGE",
        help="address of a report about the same recordings; --format html then links into it",
    )
    add_format(parser, FORMATS)
    add_engine(parser)
    add_prices(parser)
    add_detector(parser)


def _address(text: str) -> str:
    # A link of another kind would run code, or start a program, where the page is opened.
    scheme, colon, _ = text.partition(":")
    if colon and scheme.isalnum() and scheme.lower() not in ("file", "http", "https"):
        problem = f"must be a path or an http address, got {text!r}"
        raise argparse.ArgumentTypeError(problem)
    return text.partition("#")[0]


def run(args: argparse.Namespace) -> int:
    """Count the runs, and print the sums."""
    period = Period.until(time.time(), args.since)
    recordings = Recordings(args.paths, args.source, profiles_of(args))
    summary = _counted(recordings, detector_of(args), period, args)
    if summary.seen:
        _print(summary, args.format, args.report)
        return COULD_NOT_RUN if recordings.is_incomplete else 0
    if not recordings.is_incomplete:
        complain("no recorded runs found, nothing was counted")
    return COULD_NOT_RUN


def _counted(
    recordings: Recordings, detector: "LoopDetector", period: Period, args: argparse.Namespace
) -> "Summary":
    from ..._text.masking import masking_of
    from .._engines.scanning import judged_runs
    from .._judged_run import profile_of
    from .._summary.summary import Summary, judge_and_count

    summary = Summary(period, masking_of(detector.mask))
    profile = profile_of(detector, prices_of(args))
    with closing(judged_runs(recordings, profile, args, judge_and_count)) as runs:
        for judged in runs:
            summary.add(judged)
    return summary


def _print(summary: "Summary", name: str, report: str) -> None:
    if name == "json":
        say(json.dumps(summary.to_dict(), indent=2))
    elif name == "html":
        from .._summary.pages import summary_page

        say(summary_page(summary, report), end="")
    else:
        from .._summary.pages import tell_summary

        tell_summary(summary)
