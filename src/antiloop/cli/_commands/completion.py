"""``antiloop completion``: a script that lets a shell complete commands and options."""

import argparse
from functools import partial
from typing import Any, Iterator

from .._command import CommandFailed, add_command
from .._output.terminal import say

SHELLS = ("bash", "zsh", "fish")

_ABOUT = "Print a script that lets your shell complete commands and options."
_EXAMPLE = """\
It needs the extra "completion". Write the script again after an update of antiloop.

bash reads it from ~/.local/share/bash-completion/completions/antiloop, fish from
~/.config/fish/completions/antiloop.fish, and zsh from a file _antiloop in a folder of $fpath.

example:
  antiloop completion bash
"""
_FILES = ("PATH", "FILE", "PAGE")
"""The names that the parser has for a value that is a file."""


def add(commands: Any, whole: argparse.ArgumentParser) -> None:
    """Add the command to the parser of all commands."""
    parser = add_command(commands, "completion", partial(run, whole), _ABOUT, _EXAMPLE)
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help="which shell: %(choices)s")


def run(whole: argparse.ArgumentParser, args: argparse.Namespace) -> int:
    try:
        import shtab
    except ImportError as error:
        raise CommandFailed('completion needs: pip install "antiloop[completion]"') from error
    for action in _actions(whole):
        if action.metavar in _FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    say(shtab.complete(whole, args.shell))
    return 0


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the arguments of a command, and those of the commands under it."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                yield from _actions(each)
