"""``antiloop watch``: follow a recording while it is written and report loops as they happen."""

import argparse
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Iterator

from .._arguments import add_source
from .._command import FOUND, CommandFailed, add_command, add_format
from .._detector import add_detector, detector_of, profiles_of
from .._output.terminal import complain, note

if TYPE_CHECKING:
    from ...traces._internal import Begin, LiveVerdict

_PAUSE_S = 0.5
_ABOUT = "Follow recordings while they are written and report loops as they happen."
_EXAMPLE = """\
The command first checks what a file already holds. It reads the file again from the start if the
file is truncated, rewritten or replaced. Steps count from 0.

With a directory, several paths or --serve, a terminal shows one line for each session, the newest
verdict first. A pipe or a file gets one line for each finding, and so does a terminal if there is a
single file. In a directory and below it, the command follows the .jsonl files that were written
within the last hour, the newest one even if it is older, and those that are written later; at most
500 files in all.

Ctrl-C ends the command, and so does the end of standard input. The exit status is 0 if nothing was
found, 1 if something was, and 2 if a path is missing or cannot be read line by line.

examples, from a clone of the repository:
  antiloop watch docs/examples/runs.jsonl
  antiloop watch docs/examples --serve
"""


def add(commands: Any) -> None:
    parser = add_command(commands, "watch", run, _ABOUT, _EXAMPLE)
    parser.add_argument(
        "paths",
        nargs="+",
        metavar="PATH",
        help="a file that grows line by line; a directory with such files, also new ones; or - for"
        " standard input, as the only path",
    )
    parser.add_argument(
        "--serve",
        nargs="?",
        type=_port,
        const=0,
        metavar="PORT",
        help="also serve a live page for browsers on this machine, at PORT or at a free port, and"
        " print its address, which holds a secret; write --serve after the paths",
    )
    add_source(parser)
    add_format(parser, ("text", "jsonl"))
    add_detector(parser)


def run(args: argparse.Namespace) -> int:
    """Print each verdict as it comes, until interrupted."""
    if "-" in args.paths and (len(args.paths) > 1 or args.serve is not None):
        raise CommandFailed("- is standard input; it must be the only path, without --serve")
    if len(args.paths) > 1 or args.serve is not None or os.path.isdir(args.paths[0]):
        from .._live.watching import watch_many

        for path in filter(os.path.isdir, args.paths):
            note(f"waiting for recordings below {path}")
        return watch_many(args)
    from .._live.views import Lines

    view, status = Lines(args.format), 0
    with suppress(KeyboardInterrupt):  # how it ends
        for said in _said(args):
            status = FOUND
            view.said(*said)
    return status


def _said(args: argparse.Namespace) -> "Iterator[LiveVerdict]":
    from ...traces._internal import LiveFile, LiveLines

    detector, profiles, (path,) = detector_of(args), profiles_of(args), args.paths

    def begin(name: str) -> LiveLines:
        return LiveLines(name, detector, args.source, complain, profiles=profiles)

    if os.path.isfile(path):
        note(f"watching {path}")
        return _until_interrupted(LiveFile(path, begin))
    return _of_stream(path, begin)


def _until_interrupted(recording: Any) -> "Iterator[LiveVerdict]":
    try:
        while True:
            yield from recording.new_verdicts()
            time.sleep(_PAUSE_S)
    finally:
        recording.close()


def _of_stream(path: str, begin: "Begin") -> "Iterator[LiveVerdict]":
    """Check what comes through a pipe, until it ends."""
    from ...traces._internal import open_lines

    with open_lines(path) as (name, lines):
        recording = begin(name)
        for number, line in lines:
            yield from recording.take(number, line)
        yield from recording.end()


def _port(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text) < 1 << 16:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a port; write the paths before --serve")
