"""What the commands have in common."""

import argparse
import json
from textwrap import fill
from typing import Any, Callable, Iterable, NoReturn

from .terminal import printable

FOUND, COULD_NOT_RUN = 1, 2
"""Exit statuses; 0 is: it ran, and nothing was found."""


class Parser(argparse.ArgumentParser):
    """Reads a command line; what is wrong with it is told escaped, as all else is."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and end with status 2."""
        super().error(printable(message))


def add_command(
    commands: Any, name: str, run: Callable[[argparse.Namespace], int], about: str, example: str
) -> argparse.ArgumentParser:
    """Add a command whose help ends with an example."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=about[0].lower() + about[1:].rstrip("."),
        description=about,
        epilog=example,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def reason_of(error: Exception) -> str:
    """Say in a few words why a file could not be read, written or understood."""
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)


def add_names(parser: argparse.ArgumentParser, title: str, names: Iterable[str]) -> None:
    """Put what an option may name before the end of a command's help."""
    listed = "\n".join(
        fill(each, 100, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
        for each in names
    )
    parser.epilog = f"{title}:\n{listed}\n\n{parser.epilog}"
