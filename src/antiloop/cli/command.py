"""What the commands have in common."""

import argparse
import json
from typing import Any, Callable, Iterable, Sequence

FOUND, COULD_NOT_RUN = 1, 2
"""Exit statuses; 0 is: it ran, and nothing was found."""


def add_command(
    commands: Any, name: str, run: Callable[[argparse.Namespace], int], about: str, example: str
) -> argparse.ArgumentParser:
    """Add a command whose help ends with an example."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=about[0].lower() + about[1:].rstrip("."), description=about, epilog=example
    )
    parser.set_defaults(run=run)
    add_telling(parser)
    return parser


def add_telling(parser: argparse.ArgumentParser) -> None:
    """Add what may be said before a command and after it: how much is told, and in colours.

    What is left out has no value, so that one place does not overrule the other.
    """
    group = parser.add_argument_group("for every command")
    unset: Any = argparse.SUPPRESS
    for short, name, value, about in (
        ("-q", "--quiet", -1, "tell findings and trouble, nothing else"),
        ("-v", "--verbose", 1, "tell also what is read, what is fine, and all that is skipped"),
    ):
        group.add_argument(
            short,
            name,
            action="store_const",
            const=value,
            dest="verbosity",
            default=unset,
            help=about,
        )
    group.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default=unset,
        metavar="WHEN",
        help="colours: %(choices)s (default: auto, on a terminal, unless NO_COLOR is set)",
    )


def add_format(parser: argparse.ArgumentParser, choices: Sequence[str], of_what: str) -> None:
    """Add ``--format`` to a command."""
    parser.add_argument(
        "--format",
        choices=choices,
        default="text",
        metavar="NAME",
        help=f"of {of_what}: %(choices)s (default: text)",
    )


def reason_of(error: Exception) -> str:
    """Say in a few words why a file could not be read, written or understood."""
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)


def add_names(parser: argparse.ArgumentParser, title: str, names: Iterable[str]) -> None:
    """Put what an option may name before the end of a command's help."""
    listed = "\n".join(f"  {each}" for each in names)
    parser.epilog = f"{title}:\n{listed}\n\n{parser.epilog}"
