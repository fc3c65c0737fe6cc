"""``antiloop demo``: watch a scripted agent get stuck, receive a notice, go on, and be stopped."""

import argparse
from typing import Any

from ..command import add_command
from ..output.terminal import printable, tell

_ABOUT = "Watch a scripted agent get stuck, receive a notice, and be stopped."
_EXAMPLE = """\
The demo needs no API key because a script plays the model.

example:
  antiloop demo
"""
_QUESTION = "After how many days can a customer still return something?"


def add(commands: Any) -> None:
    """Add the command to the parser."""
    add_command(commands, "demo", run, _ABOUT, _EXAMPLE)


def run(args: argparse.Namespace) -> int:  # noqa: ARG001 - all commands are called alike
    """Run the agent, and print what its observer saw."""
    from .demo_agent import Timeline, stuck_agent

    timeline = Timeline()
    stuck_agent(timeline).run(_QUESTION)
    tell(f"The user asks a scripted agent: {_QUESTION}")
    for line in timeline.lines:
        tell(printable(line))
    return 0
