"""``antiloop demo``: watch a scripted agent get stuck, be told, and be stopped."""

import argparse
from typing import Any

from .command import add_command

_EXAMPLE = """\
It needs no API key: the model is a script.

example:
  antiloop demo
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    add_command(
        commands, "demo", run, "Watch a scripted agent get stuck, and be stopped.", _EXAMPLE
    )


def run(args: argparse.Namespace) -> int:
    """Run the agent and print what happens, as it happens."""
    return 0
