"""``antiloop hook AGENT``: guard a coding agent, and install the guard in its settings."""

import argparse
import os
import sys
from typing import Any, List

from ...integrations._internal import AGENTS
from .._command import CommandFailed, add_command
from .._detector import add_choice, add_isolated, read_config

_ABOUT = "Guard a coding agent against loops."
_EXAMPLE = """\
The agent calls this command with an event on standard input. --install adds the call to the
agent's settings: to the settings that everyone on this project shares, with --local to your own
settings for this project (if the agent has them), with --user to your settings for all projects.
It shows the change first. Shared settings should not depend on this machine, so --install warns if
it writes a path into them. --uninstall deletes a file that would be left empty.

--status shows where the hook is installed and whether it can run. The exit status is 0 if it is
installed and can run, 1 if not, and 2 if settings cannot be read.

When an agent calls the hook, the exit status is always 0, because a broken guard must not break the
session. Errors go to standard error.

example:
  antiloop hook claude-code --install
"""


def add(commands: Any) -> None:
    parser = add_command(commands, "hook", run, _ABOUT, _EXAMPLE)
    parser.add_argument(
        "agent", metavar="AGENT", choices=tuple(AGENTS), help=f"coding agent: {', '.join(AGENTS)}"
    )
    change = parser.add_mutually_exclusive_group()
    change.add_argument("--install", action="store_true", help="add the hook to the settings")
    change.add_argument("--uninstall", action="store_true", help="remove it from the settings")
    change.add_argument("--status", action="store_true", help="show where the hook is installed")
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--user", action="store_true", help="use your settings for all projects")
    place.add_argument(
        "--local", action="store_true", help="use your own settings for this project"
    )
    parser.add_argument("--yes", action="store_true", help="change the settings without asking")
    add_choice(parser, "escalating", _checked)
    parser.add_argument(
        "--shadow", action="store_true", help="only report on standard error what the hook would do"
    )
    add_isolated(parser)
    parser.add_argument(
        "--ignore",
        action="append",
        default=[],
        metavar="TOOL",
        help="tool whose calls are ignored; may be repeated",
    )


def run(args: argparse.Namespace) -> int:
    """Change the settings, show them, or answer an event."""
    from .._hooks.agent_settings import LOCAL, PROJECT, USER
    from .._hooks.agents import SETTINGS
    from .._hooks.hook_settings import install, show_status, uninstall

    agent = SETTINGS[args.agent]
    place = USER if args.user else LOCAL if args.local else PROJECT
    if args.status:
        return show_status(agent)
    if args.install:
        install(agent, place, _options(args), args.config, is_agreed=args.yes)
        return 0
    if args.uninstall:
        uninstall(agent, place, is_agreed=args.yes)
        return 0
    if sys.stdin is not None and sys.stdin.isatty():
        title = AGENTS[args.agent].title
        wanted = f"{title} calls this command with an event; set that up with --install"
        raise CommandFailed(wanted)
    from ...integrations._internal import hook_process

    return hook_process.main(_options(args), args.agent)


def _options(args: argparse.Namespace) -> List[str]:
    named = [("--preset", args.preset), ("--config", args.config)]
    named += [("--ignore", tool) for tool in args.ignore]
    words = [word for name, value in named if value is not None for word in (name, value)]
    flags = [("--shadow", args.shadow), ("--isolated", args.isolated)]
    return [*words, *(name for name, is_given in flags if is_given)]


def _checked(path: str) -> str:
    """Return the absolute path of a readable configuration."""
    if path == "-":
        raise argparse.ArgumentTypeError(
            "-: the hook reads the configuration at each call, so it must be a file"
        )
    read_config(path)
    return os.path.abspath(path)
