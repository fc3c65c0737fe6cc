"""``antiloop scan``: find loops in recorded runs."""

import argparse
import sys
import time
from typing import TYPE_CHECKING, Any, Iterator, List, Optional, Sequence

from .command import COULD_NOT_RUN, FOUND, PRESETS, add_command
from .terminal import complain

if TYPE_CHECKING:
    from ..traces import RecordedRun

FORMATS = (
    "antiloop",
    "openai-chat",
    "otlp",
    "atif",
    "swe-agent",
    "anthropic",
    "claude-code",
    "openai-responses",
    "openhands",
    "codex",
    "langchain",
    "event-log",
)
"""Names of trace formats, repeated here so that help need not load them."""

_EXAMPLE = """\
The format of a file is recognised by what it holds, and gzip is unpacked. Steps count from 0.

example, from a clone of the repository:
  antiloop scan docs/examples/runs.jsonl
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "scan", run, "Find loops in recorded runs.", _EXAMPLE)
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="recorded runs; - is standard input"
    )
    parser.add_argument(
        "--format", choices=("text", "json", "jsonl"), default="text", help="of what is printed"
    )
    parser.add_argument("--from", choices=FORMATS, dest="source", help="the format of the files")
    parser.add_argument(
        "--preset",
        choices=PRESETS,
        default="default",
        help="who looks: " + "; ".join(f"{name}: {about}" for name, about in PRESETS.items()),
    )


def run(args: argparse.Namespace) -> int:
    """Scan the files and write what was found."""
    from ..loop_detection import LoopDetector
    from ..traces import replay
    from .output import WRITERS

    detector = getattr(LoopDetector, args.preset)()
    writer = WRITERS[args.format]()
    unreadable: List[str] = []
    stuck = 0
    for recorded in _with_progress(_runs(args.files, args.source, unreadable)):
        verdicts = list(replay(recorded, detector))
        stuck += bool(verdicts)
        writer.run(recorded, verdicts)
    writer.end()
    if unreadable:
        return COULD_NOT_RUN
    return FOUND if stuck else 0


def _runs(
    paths: Sequence[str], source: Optional[str], unreadable: List[str]
) -> "Iterator[RecordedRun]":
    """Yield the runs of all files; name those that cannot be read, and go on without them."""
    from ..exceptions import TraceUnreadable
    from ..traces import read_runs

    for path in paths:
        try:
            yield from read_runs(path, source=source, on_trouble=complain)
        except TraceUnreadable as error:  # noqa: PERF203 - one file, not one line
            complain(str(error))
            unreadable.append(path)


def _with_progress(runs: "Iterator[RecordedRun]") -> "Iterator[RecordedRun]":
    """Count the runs on standard error, if a person is watching."""
    if not sys.stderr.isatty():
        yield from runs
        return
    shown = time.monotonic()
    for count, recorded in enumerate(runs):
        if time.monotonic() - shown > 0.5:
            shown = time.monotonic()
            sys.stderr.write(f"\r{count:,} runs")
            sys.stderr.flush()
        yield recorded
    sys.stderr.write("\r\x1b[K")
