"""What the commands have in common."""

import argparse
from typing import Any, Callable

FOUND, COULD_NOT_RUN = 1, 2
"""Exit statuses; 0 is: it ran, and nothing was found."""


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
