"""``antiloop hook AGENT``: guard a coding agent, and put that into its settings."""

import argparse
import os
import sys
from typing import Any, List

from ...integrations.hooks.hook_agents import AGENTS
from ..command import COULD_NOT_RUN, add_command
from ..detector import read_config
from ..output.terminal import complain

_ABOUT = "Guard a coding agent against loops."
_EXAMPLE = """\
The agent itself calls this, with an event on standard input; --install writes that into its
settings: those that all who work on this project share, with --local your own for this project
where the agent has such, with --user yours for all projects. The change is shown first. What stands
in shared settings should not depend on this machine: --install warns if it writes a path into them.
--uninstall removes a file in which nothing else is left.

--status says where the hook is installed and whether it can run. The exit status is 0 if it is and
can, 1 if not, 2 if settings cannot be read.

As a hook the exit status is always 0: a guard that breaks must not break the session. What went
wrong stands on standard error.

example:
  antiloop hook claude-code --install
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    from ...loop_detection.presets import PRESETS

    parser = add_command(commands, "hook", run, _ABOUT, _EXAMPLE)
    parser.add_argument(
        "agent",
        metavar="AGENT",
        choices=tuple(AGENTS),
        help=f"what calls the hook: {', '.join(AGENTS)}",
    )
    change = parser.add_mutually_exclusive_group()
    change.add_argument("--install", action="store_true", help="write it into the settings")
    change.add_argument("--uninstall", action="store_true", help="take it out of the settings")
    change.add_argument("--status", action="store_true", help="say where it is installed")
    place = parser.add_mutually_exclusive_group()
    place.add_argument(
        "--user", action="store_true", help="your own settings, not those of this project"
    )
    place.add_argument(
        "--local", action="store_true", help="your own settings for this project, not shared"
    )
    parser.add_argument("--yes", action="store_true", help="write without asking")
    who = parser.add_mutually_exclusive_group()
    who.add_argument(
        "--preset",
        choices=PRESETS,
        metavar="NAME",
        help="detector preset (default: that of antiloop.toml, or else escalating)",
    )
    who.add_argument(
        "--config",
        type=_checked,
        metavar="FILE",
        help="settings from FILE.toml, or a detector from JSON that calibrate or"
        " LoopDetector.to_config wrote",
    )
    parser.add_argument(
        "--shadow",
        action="store_true",
        help="do nothing, and write on standard error what would be done",
    )
    parser.add_argument(
        "--isolated", action="store_true", help="read no antiloop.toml and no pyproject.toml"
    )
    parser.add_argument(
        "--ignore",
        action="append",
        default=[],
        metavar="TOOL",
        help="a tool whose calls are no evidence; may be given often",
    )


def run(args: argparse.Namespace) -> int:
    """Change the settings, say what stands there, or answer an event."""
    from ..hooks.agent_settings import LOCAL, PROJECT, USER
    from ..hooks.agents import SETTINGS
    from ..hooks.hook_settings import install, show_status, uninstall

    agent = SETTINGS[args.agent]
    place = USER if args.user else LOCAL if args.local else PROJECT
    if args.status:
        return show_status(agent)
    if args.install:
        return install(agent, place, _options(args), args.config, is_agreed=args.yes)
    if args.uninstall:
        return uninstall(agent, place, is_agreed=args.yes)
    if sys.stdin is not None and sys.stdin.isatty():
        title = AGENTS[args.agent].title
        complain(f"{title} calls this with an event; say --install to have it do so")
        return COULD_NOT_RUN
    from ...integrations.hooks.hook_process import main

    return main(_options(args), args.agent)


def _options(args: argparse.Namespace) -> List[str]:
    named = [("--preset", args.preset), ("--config", args.config)]
    named += [("--ignore", tool) for tool in args.ignore]
    words = [word for name, value in named if value is not None for word in (name, value)]
    flags = [("--shadow", args.shadow), ("--isolated", args.isolated)]
    return [*words, *(name for name, is_given in flags if is_given)]


def _checked(path: str) -> str:
    """Give the full path of a configuration that can be read."""
    if path == "-":
        raise argparse.ArgumentTypeError("-: the hook reads it each time, so it must be a file")
    read_config(path)
    return os.path.abspath(path)
