"""``antiloop help``: what a command does and what its options are, as ``--help`` says it."""

import argparse
from functools import partial
from typing import Any

from .command import add_command

_ABOUT = "Tell what a command does and what its options are."
_EXAMPLE = """\
It is what --help says after a command.

example:
  antiloop help scan
"""


def add(commands: Any, whole: argparse.ArgumentParser) -> None:
    """Add the command to the parser of all commands."""
    parser = add_command(commands, "help", partial(run, whole), _ABOUT, _EXAMPLE)
    parser.add_argument(
        "command", nargs="?", metavar="COMMAND", help="which command; all of them if left out"
    )


def run(whole: argparse.ArgumentParser, args: argparse.Namespace) -> int:
    """Print the help of a command."""
    named = [] if args.command is None else [args.command]
    whole.parse_args([*named, "--help"])  # which ends the program
    return 0  # pragma: no cover
