"""``antiloop watch``: follow a recording while it is written and report loops as they happen."""

import argparse
import os
import sys
import time
from typing import TYPE_CHECKING, Any, Iterator

from ..command import COULD_NOT_RUN, FOUND, add_command, add_format
from ..detector import add_detector, detector_of
from ..output.terminal import complain, note
from ..recordings import add_source

if TYPE_CHECKING:
    from ...traces.live.live_files import Begin
    from ...traces.live.live_lines import LiveVerdict

_PAUSE_S = 0.5
_ABOUT = "Follow a recording while it is written and report loops as they happen."
_EXAMPLE = """\
The command first checks what the file already holds. It reads the file again from the start if the
file is truncated, rewritten or replaced. Steps count from 0.

Ctrl-C ends the command, and so does the end of standard input. The exit status is 0 if nothing was
found, 1 if something was, and 2 if the recording cannot be read line by line.

example, from a clone of the repository:
  antiloop watch docs/examples/runs.jsonl
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "watch", run, _ABOUT, _EXAMPLE)
    parser.add_argument(
        "path",
        metavar="PATH",
        help="a file that grows line by line, a directory (its newest .jsonl file is followed),"
        " or - for standard input",
    )
    add_source(parser)
    add_format(parser, ("text", "jsonl"))
    add_detector(parser)


def run(args: argparse.Namespace) -> int:
    """Print each verdict as it comes, until interrupted."""
    from ...exceptions import TraceUnreadable
    from ..output.live_output import LiveJsonlWriter, LiveTextWriter

    writer = LiveJsonlWriter() if args.format == "jsonl" else LiveTextWriter()
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


def _said(args: argparse.Namespace) -> "Iterator[LiveVerdict]":
    from ...traces.live.live_files import LiveFile, LiveFolder
    from ...traces.live.live_lines import LiveLines

    detector = detector_of(args)

    def begin(name: str) -> LiveLines:
        return LiveLines(name, detector, args.source, complain)

    if os.path.isdir(args.path):
        note(f"waiting for a recording below {args.path}")
        return _until_interrupted(LiveFolder(args.path, begin, _tell_file, complain))
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
    """Check what comes through a pipe, until it ends."""
    from ...traces.source import open_lines

    with open_lines(path) as (name, lines):
        recording = begin(name)
        for number, line in lines:
            yield from recording.take(number, line)
        yield from recording.end()


def _tell_file(path: str) -> None:
    note(f"watching {path}")
