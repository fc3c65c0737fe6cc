"""``antiloop help``: print the help of a command, as ``--help`` does."""

import argparse
from functools import partial
from typing import Any

from .._command import add_command

_ABOUT = "Show what a command does and which options it has."
_EXAMPLE = """\
`antiloop help COMMAND` prints the same as `antiloop COMMAND --help`.

example:
  antiloop help scan
"""


def add(commands: Any, whole: argparse.ArgumentParser) -> None:
    """Add the command to the parser of all commands."""
    parser = add_command(commands, "help", partial(run, whole), _ABOUT, _EXAMPLE)
    parser.add_argument(
        "command", nargs="?", metavar="COMMAND", help="a command (default: list all commands)"
    )


def run(whole: argparse.ArgumentParser, args: argparse.Namespace) -> int:
    named = [] if args.command is None else [args.command]
    whole.parse_args([*named, "--help"])  # which ends the program
    return 0  # pragma: no cover
