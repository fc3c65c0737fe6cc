"""The command line: one module for each command, each with ``add`` and ``run``.

Findings go to standard output, trouble to standard error. The exit status is 0 if nothing was
found, 1 if something was, and 2 if the command could not do all of its work; after Ctrl-C or a
closed pipe it is 130 or 141, as a shell expects. Commands import what they need when they run, so
help is quick.
"""

import argparse
import os
import sys
import traceback
from typing import Optional, Sequence, TextIO

from ..exceptions import TraceUnreadable
from ..version import __version__
from ._command import COULD_NOT_RUN, CommandFailed, add_verbosity, reason_of
from ._commands import (
    calibrate,
    completion,
    config,
    demo,
    explain,
    help_page,
    hook,
    label,
    redact,
    report,
    scan,
    watch,
)
from ._commands import summary as summary_command  # the room cli.summary is another module
from ._output.terminal import choose, complain, is_verbose
from ._parser import Parser

_INTERRUPTED, _PIPE_CLOSED = 130, 141

_EXAMPLE = """\
example:
  antiloop demo
"""


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run one command, by default that of `sys.argv`, and return its exit status."""
    _prepare_output()
    choose()
    try:
        status = _run(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
    except KeyboardInterrupt:
        complain("interrupted")
        return _INTERRUPTED
    except BrokenPipeError:
        _discard_output()
        return _PIPE_CLOSED
    except OSError as error:  # mostly from standard output: commands handle the files they open
        complain(f"stopped: {reason_of(error)}")
        _discard_output()
        return COULD_NOT_RUN
    return status


def _run(arguments: Sequence[str]) -> int:
    parser = _parser()
    if not arguments:
        parser.print_help(sys.stderr)
        return COULD_NOT_RUN
    args = parser.parse_args(arguments)
    choose(getattr(args, "verbosity", 0), getattr(args, "color", "auto"))
    try:
        status: int = args.run(args)
    except (CommandFailed, TraceUnreadable, ValueError) as error:
        if is_verbose():  # it may be a fault of ours
            traceback.print_exc()
        complain(str(error))
        return COULD_NOT_RUN
    return status


def _prepare_output() -> None:
    """Make both output streams usable: present, and escaping what they cannot encode."""
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _nowhere() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")


def _discard_output() -> None:
    """Redirect standard output to nowhere, because Python flushes it once more at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="antiloop",
        description="Notices when an LLM agent is stuck in a tool-call loop.",
        epilog=_EXAMPLE,
    )
    parser.add_argument(
        "--version", action="version", version=f"antiloop {__version__}", help="show the version"
    )
    add_verbosity(parser)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    recordings = (scan, watch, explain, report, summary_command, label, redact, calibrate)
    for command in (demo, *recordings, hook, config):
        command.add(commands)
    completion.add(commands, parser)
    help_page.add(commands, parser)
    return parser
