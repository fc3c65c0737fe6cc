"""``antiloop hook claude-code``: guard Claude Code, and put that into its settings."""

import argparse
import difflib
import json
import os
import shlex
import shutil
import subprocess
import sys
from typing import Any, List

from .command import COULD_NOT_RUN, add_command, reason_of
from .detector import read_config
from .terminal import complain, printable, say

_ABOUT = "Guard Claude Code against loops."
_START_UP = "import antiloop.__main__ as antiloop"
_START = f"{_START_UP}; antiloop.main()"
_EXAMPLE = """\
Claude Code itself calls this, with an event on standard input; --install writes that into its
settings, here or, with --user, for all projects. The change is shown first.

As a hook the exit status is always 0: a guard that breaks must not break the session. What went
wrong stands on standard error.

example:
  antiloop hook claude-code --install
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    from ..loop_detection.presets import PRESETS

    parser = add_command(commands, "hook", run, _ABOUT, _EXAMPLE)
    parser.add_argument(
        "program", metavar="claude-code", choices=("claude-code",), help="what calls the hook"
    )
    change = parser.add_mutually_exclusive_group()
    change.add_argument("--install", action="store_true", help="write it into the settings")
    change.add_argument("--uninstall", action="store_true", help="take it out of the settings")
    parser.add_argument(
        "--user", action="store_true", help="your own settings, not those of this project"
    )
    parser.add_argument("--yes", action="store_true", help="write without asking")
    who = parser.add_mutually_exclusive_group()
    who.add_argument("--preset", choices=PRESETS, help="who looks (default: escalating)")
    who.add_argument(
        "--config",
        type=_checked,
        metavar="FILE",
        help="who looks, from JSON that LoopDetector.to_config wrote",
    )
    parser.add_argument(
        "--ignore",
        action="append",
        default=[],
        metavar="TOOL",
        help="a tool whose calls are no evidence; may be given often",
    )


def run(args: argparse.Namespace) -> int:
    """Change the settings, or answer an event."""
    if not (args.install or args.uninstall):
        if _is_somebody_there():
            complain("Claude Code calls this with an event; say --install to have it do so")
            return COULD_NOT_RUN
        from ..integrations.hook_process import main

        return main(_options(args))
    path = _settings_path(args.user)
    try:
        return _change(path, args)
    except (OSError, ValueError, RecursionError) as error:
        complain(f"{path}: {reason_of(error)}; nothing was changed")
        return COULD_NOT_RUN


def _change(path: str, args: argparse.Namespace) -> int:
    from .claude_settings import with_hook, without_hook

    text = _read(path)
    before = json.loads(text) if text.strip() else {}
    after = with_hook(before, _command(args)) if args.install else without_hook(before)
    if after == before:
        say(printable(f"{path}: nothing to change"))
        return 0
    changed = json.dumps(after, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    for line in difflib.unified_diff(
        text.splitlines(), changed.splitlines(), path, path, lineterm=""
    ):
        say(printable(line))
    if not (args.yes or _may_write()):
        say("nothing was changed")
        return 0
    _write(path, changed)
    say(printable(f"written: {path}"))
    return 0


def _is_somebody_there() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _may_write() -> bool:
    if not _is_somebody_there():
        raise ValueError("nobody is there to be asked: say --yes")
    sys.stdout.write("Write this? [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _settings_path(is_users: bool) -> str:
    if not is_users:
        return os.path.join(".claude", "settings.json")
    folder = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.join("~", ".claude")
    return os.path.join(os.path.expanduser(folder), "settings.json")


def _command(args: argparse.Namespace) -> str:
    """Give the command that is written."""
    return shlex.join([*_program(args.user), "hook", "claude-code", *_options(args)])


def _program(is_users: bool) -> List[str]:
    """Say how antiloop is called: a project's settings are shared, so no path stands there."""
    if not is_users and shutil.which("antiloop"):
        return ["antiloop"]
    # The quickest start, and the only one for which modules of the project cannot get in the way.
    quick = [sys.executable, "-I", "-c"]
    return [*quick, _START] if _works([*quick, _START_UP]) else [sys.executable, "-m", "antiloop"]


def _works(command: List[str]) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0  # noqa: S603


def _options(args: argparse.Namespace) -> List[str]:
    named = [("--preset", args.preset), ("--config", args.config)]
    named += [("--ignore", tool) for tool in args.ignore]
    return [word for name, value in named if value is not None for word in (name, value)]


def _checked(path: str) -> str:
    """Give the full path of a configuration that can be read."""
    if path == "-":
        raise argparse.ArgumentTypeError("-: the hook reads it each time, so it must be a file")
    read_config(path)
    return os.path.abspath(path)


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8-sig") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def _write(path: str, text: str) -> None:
    """Replace a file in one step; where it is a link, what it leads to."""
    data = text.encode("utf-8")  # first of all: what cannot be encoded must leave nothing behind
    real = os.path.realpath(path)
    os.makedirs(os.path.dirname(real), exist_ok=True)
    part = f"{real}.part"
    with open(part, "wb") as file:
        file.write(data)
    if os.path.exists(real):
        shutil.copymode(real, part)
    os.replace(part, real)
