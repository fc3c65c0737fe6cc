"""Share what all commands need."""

import argparse
import json
from contextlib import contextmanager
from typing import Any, Callable, Iterable, Iterator, Sequence, Tuple, Type

FOUND, COULD_NOT_RUN = 1, 2
"""Exit statuses; 0 means that the command ran and found nothing."""


class CommandFailed(Exception):
    """The command cannot do its work; the message says why, or what to do."""


@contextmanager
def naming(name: str, kinds: Tuple[Type[Exception], ...] = (OSError,)) -> Iterator[None]:
    """Make a failure of the command of an error in this block, and say what it is about."""
    try:
        yield
    except BrokenPipeError:
        raise
    except kinds as error:
        raise CommandFailed(f"{name}: {reason_of(error)}") from error


def add_command(
    commands: Any, name: str, run: Callable[[argparse.Namespace], int], about: str, example: str
) -> argparse.ArgumentParser:
    """Add a command whose help ends with an example."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=about[0].lower() + about[1:].rstrip("."), description=about, epilog=example
    )
    parser.set_defaults(run=run)
    add_verbosity(parser)
    return parser


def add_verbosity(parser: argparse.ArgumentParser) -> None:
    """Add the options for verbosity and color, which work before a command and after it.

    Their defaults are suppressed, so that one position does not overrule the other.
    """
    group = parser.add_argument_group("for every command")
    unset: Any = argparse.SUPPRESS
    more = "also print files read, healthy runs, and every skipped place"
    for short, name, value, about in (
        ("-q", "--quiet", -1, "print findings and errors only"),
        ("-v", "--verbose", 1, more),
    ):
        chosen: Any = {"action": "store_const", "const": value, "dest": "verbosity"}
        group.add_argument(short, name, **chosen, default=unset, help=about)
    group.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default=unset,
        metavar="WHEN",
        help="colors: %(choices)s (default: auto, which means on a terminal without NO_COLOR)",
    )


def add_format(
    parser: argparse.ArgumentParser, choices: Sequence[str], about: str = "output format"
) -> None:
    parser.add_argument(
        "--format",
        choices=choices,
        default="text",
        metavar="NAME",
        help=f"{about}: %(choices)s (default: text)",
    )


def reason_of(error: Exception) -> str:
    """Describe briefly why a file could not be read, written or parsed."""
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)


def add_names(parser: argparse.ArgumentParser, title: str, names: Iterable[str]) -> None:
    """List the names that an option accepts, before the last part of a command's help."""
    listed = "\n".join(f"  {each}" for each in names)
    parser.epilog = f"{title}:\n{listed}\n\n{parser.epilog}"
