"""``antiloop scan``: find loops in recorded runs."""

import argparse
from contextlib import closing
from typing import TYPE_CHECKING, Any, Generator, Optional, Tuple, Union

from ...exceptions import SettingsError
from .._arguments import add_recordings, path_to_write
from .._command import COULD_NOT_RUN, FOUND, add_command, add_format
from .._detector import add_detector, add_prices, detector_of, prices_of, profiles_of, settings_of
from .._engines.parallel import add_engine
from .._named_judge import add_judge
from .._output.terminal import complain
from .._recordings import Recordings

if TYPE_CHECKING:
    from ...loop_detection import LoopDetector
    from .._judged_run import JudgedRun
    from .._output.judged_output import JsonlWriter, JsonWriter, TextWriter
    from .._output.sarif import SarifWriter
    from .baseline import Baseline, Comparison

    # They print runs as they come, so that memory does not grow with their number.
    Writer = Union[TextWriter, JsonWriter, JsonlWriter, SarifWriter]

FORMATS = ("text", "json", "jsonl", "sarif")

_EXAMPLE = """\
The format of each file is detected from its contents, and gzip is unpacked. Steps count from 0.

With --baseline, loops in that file are not shown and do not count for the exit status.

The output ends with a table of the runs by their health: their calls, the wasted calls (those of
each loop after its first lap), and, if the recordings contain them, the tokens of the wasted calls
and of the model replies that requested them, and the cost of the runs.

example, from a clone of the repository:
  antiloop scan docs/examples/runs.jsonl
"""


def add(commands: Any) -> None:
    parser = add_command(commands, "scan", run, "Find loops in recorded runs.", _EXAMPLE)
    add_recordings(parser)
    add_format(parser, FORMATS)
    parser.add_argument(
        "--strict",
        action="store_true",
        help="exit with status 2 if a part of a recording is skipped or may be read wrong",
    )
    baseline = parser.add_mutually_exclusive_group()
    baseline.add_argument(
        "--baseline",
        type=_read_baseline,
        metavar="FILE",
        help="file with known loops; only other loops make the exit status 1",
    )
    baseline.add_argument(
        "--write-baseline",
        type=path_to_write,
        metavar="FILE",
        help="write the loops found to a file for --baseline; the exit status is then 0",
    )
    add_engine(parser)
    add_prices(parser)
    add_detector(parser)
    add_judge(parser)


def run(args: argparse.Namespace) -> int:
    """Scan the files and write what was found."""
    from .._engines.scanning import judged_runs
    from .._judged_run import profile_of

    detector = detector_of(args)
    recordings = Recordings(args.paths, args.source, profiles_of(args))
    baseline = _baseline_of(args, recordings)
    runs = judged_runs(recordings, profile_of(detector, prices_of(args)), args)
    seen, stuck = _write(runs, _writer(args.format, detector, recordings), baseline)
    if not (seen or recordings.is_incomplete):
        complain("no recorded runs found, nothing was checked")
    is_whole = bool(seen) and not recordings.is_incomplete
    if baseline:
        baseline.end(is_whole)
    if not is_whole or (args.strict and recordings.notices):
        return COULD_NOT_RUN
    return FOUND if stuck and args.write_baseline is None else 0


def _baseline_of(args: argparse.Namespace, recordings: Recordings) -> "Optional[Comparison]":
    if args.write_baseline is not None:
        from .baseline import NewBaseline

        return NewBaseline(args.write_baseline)
    baseline: Optional[Baseline] = args.baseline or _baseline_of_settings(args)
    if baseline:
        baseline.begin(file.path for file in recordings.files)
    return baseline


def _baseline_of_settings(args: argparse.Namespace) -> "Optional[Baseline]":
    settings = settings_of(args)
    if settings.baseline is None:
        return None
    try:
        return _read_baseline(settings.baseline)
    except argparse.ArgumentTypeError as error:
        raise SettingsError(f"{settings.file.name}: baseline: {error}") from error


def _write(
    runs: "Generator[JudgedRun, None, None]", writer: "Writer", baseline: "Optional[Comparison]"
) -> Tuple[int, int]:
    """Write the runs as they come; count them, and those with an unknown loop."""
    seen = stuck = 0
    with closing(runs):  # stops the workers, whatever happens
        for each in runs:
            judged = baseline.marked(each) if baseline else each
            seen += 1
            stuck += bool(judged.new_verdicts)
            writer.run(judged)
    writer.end()
    return seen, stuck


def _read_baseline(path: str) -> "Baseline":
    from .baseline import read_baseline

    return read_baseline(path)


def _writer(name: str, detector: "LoopDetector", recordings: Recordings) -> "Writer":
    from .._output.judged_output import JsonlWriter, JsonWriter, TextWriter

    if name == "sarif":
        from .._output.sarif import SarifWriter

        return SarifWriter(detector, recordings)
    if name == "text":
        return TextWriter()
    return JsonWriter() if name == "json" else JsonlWriter()
