"""The command line: one module for each command, each with ``add`` and ``run``.

Findings go to standard output, trouble to standard error. The exit status is 0 if nothing was
found, 1 if something was, 2 if the command could not do all of its work; after Ctrl-C or a closed
pipe it is 130 or 141, as a shell expects. Commands import what they need when they run, so help
is quick.
"""

import argparse
import os
import sys
from typing import Optional, Sequence

from . import calibrate, demo, explain, hook, report, scan, watch
from .terminal import complain

INTERRUPTED, PIPE_CLOSED = 130, 141

_EXAMPLE = """\
example:
  antiloop demo
"""


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run one command and give its exit status.

    Args:
        argv: the arguments without the program's name; those of the process if None.
    """
    # What a terminal cannot show is written as an escape instead of ending in an error.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        args = _parser().parse_args(argv)
        status: int = args.run(args)
        sys.stdout.flush()
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # Python flushes standard output once more at exit; give it somewhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="antiloop",
        description="Notices when an LLM agent is stuck in a tool-call loop.",
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in (demo, scan, watch, explain, report, calibrate, hook):
        command.add(commands)
    return parser
