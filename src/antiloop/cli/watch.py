"""``antiloop watch``: follow a recording while it is written, and tell loops as they happen."""

import argparse
import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any, Iterator, Optional, Union

from .command import COULD_NOT_RUN, FOUND, add_command
from .detector import add_detector, detector_of
from .output import message, verdict_as_json
from .recordings import FORMATS
from .terminal import complain, printable, say

if TYPE_CHECKING:
    from ..loop_detection import LoopVerdict
    from ..traces.live_files import Begin
    from ..traces.live_lines import LiveVerdict
    from ..traces.run_under_way import RunUnderWay

_PAUSE_S = 0.5
_ABOUT = "Follow a recording while it is written, and tell loops as they happen."
_EXAMPLE = """\
What is in the file already is judged first. A file that is cut off, written again or replaced is
read anew. Steps count from 0.

Ctrl-C ends it. The exit status is then 0 if nothing was found, 1 if something was; it is 2 if the
recording cannot be read, or not line by line. Standard input ends by itself.

example, from a clone of the repository:
  antiloop watch docs/examples/runs.jsonl
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "watch", run, _ABOUT, _EXAMPLE)
    parser.add_argument(
        "path",
        metavar="PATH",
        help="a file that grows by lines; a directory, for the newest .jsonl file in it or below;"
        " - for standard input",
    )
    parser.add_argument("--from", choices=FORMATS, dest="source", help="the format of the file")
    parser.add_argument(
        "--format", choices=("text", "jsonl"), default="text", help="of what is printed"
    )
    add_detector(parser)


def run(args: argparse.Namespace) -> int:
    """Tell each verdict as it falls, until interrupted."""
    from ..exceptions import TraceUnreadable

    writer: Union[_TextWriter, _JsonlWriter]
    writer = _JsonlWriter() if args.format == "jsonl" else _TextWriter()
    status = 0
    try:
        for said in _said(args):
            status = FOUND
            writer.write(*said)
            sys.stdout.flush()
    except TraceUnreadable as error:
        complain(str(error))
        status = COULD_NOT_RUN
    except KeyboardInterrupt:
        pass  # how it ends
    return status


class _TextWriter:
    """A line for each verdict, below a line for its run."""

    def __init__(self) -> None:
        self._run: Optional[RunUnderWay] = None

    def write(self, run: "RunUnderWay", step: int, verdict: "LoopVerdict") -> None:
        if run is not self._run:
            say(printable(f"{run.run_id} ({run.source})"))
            self._run = run
        say(printable(f"  step {step:>3}  {verdict.action.value:<6}  {message(verdict)}"))


class _JsonlWriter:
    """One line of JSON for each verdict."""

    def write(self, run: "RunUnderWay", step: int, verdict: "LoopVerdict") -> None:
        beside = {"run_id": run.run_id, "source": run.source}
        say(json.dumps({**beside, **verdict_as_json(step, verdict)}))


def _said(args: argparse.Namespace) -> "Iterator[LiveVerdict]":
    from ..traces.live_files import LiveFile, LiveFolder
    from ..traces.live_lines import LiveLines

    detector = detector_of(args)

    def begin(name: str) -> LiveLines:
        return LiveLines(name, detector, args.source, complain)

    if os.path.isdir(args.path):
        complain(f"waiting for what is written below {args.path}")
        return _until_interrupted(LiveFolder(args.path, begin, _tell_file))
    if os.path.isfile(args.path):
        _tell_file(args.path)
        return _until_interrupted(LiveFile(args.path, begin))
    return _of_stream(args.path, begin)


def _until_interrupted(recording: Any) -> "Iterator[LiveVerdict]":
    try:
        while True:
            yield from recording.said()
            time.sleep(_PAUSE_S)
    finally:
        recording.close()


def _of_stream(path: str, begin: "Begin") -> "Iterator[LiveVerdict]":
    """Judge what comes through a pipe, until it ends."""
    from ..traces.source import open_lines

    with open_lines(path) as (name, lines):
        recording = begin(name)
        for number, line in enumerate(lines, 1):
            yield from recording.take(number, line)
        yield from recording.end()


def _tell_file(path: str) -> None:
    complain(f"watching {path}")
