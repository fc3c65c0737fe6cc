"""Putting the hook into Claude Code's settings, taking it out, and saying where it is."""

import difflib
import json
import os
import sys
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Set

from ..regular_file import opener
from .claude_settings import EVENTS, commands_in, with_hook, without_hook
from .command import COULD_NOT_RUN, FOUND, reason_of
from .hook_program import command_of, missing_program, warnings
from .replaced_file import replaced_file, target_of
from .terminal import complain, printable, say

USER, PROJECT, LOCAL = "user", "project", "local"
"""Whose settings: yours for all projects, those that a project shares, yours for the project."""

_TROUBLE = (OSError, ValueError, RecursionError)
Change = Callable[[Any], Dict[str, Any]]


def install(
    place: str, options: Sequence[str], config: Optional[str], *, is_agreed: bool = False
) -> int:
    """Let Claude Code call the hook; give the exit status.

    Args:
        place: `USER`, `PROJECT` or `LOCAL`.
        options: with which the hook is called.
        config: the configuration that is among them, if any.
        is_agreed: write without asking.
    """
    is_shared = place == PROJECT
    command = command_of(options, is_shared=is_shared)
    told = warnings(config) if is_shared else ()
    return _changed(place, lambda settings: with_hook(settings, command), told, is_agreed)


def uninstall(place: str, *, is_agreed: bool = False) -> int:
    """Let Claude Code call the hook no more; give the exit status."""
    return _changed(place, without_hook, (), is_agreed)


def show_status() -> int:
    """Say where the hook is installed, and what keeps it from running; give the exit status."""
    commands: Set[str] = set()
    is_in_order = True
    for place in (USER, PROJECT, LOCAL):
        path = path_of(place)
        try:
            settings = _read(path)
            found = commands_in(settings)
        except _TROUBLE as error:
            complain(f"{path}: {reason_of(error)}")
            return COULD_NOT_RUN
        here = {command for each in found.values() for command in each}
        say(printable(f"{path}: {', '.join(sorted(here)) or 'not installed'}"))
        for what in _wrong(settings, found) if here else ():
            is_in_order = False
            say(printable(f"  {what}"))
        commands |= here
    if len(commands) > 1:
        say("Different commands call it, so each call is judged several times.")
    return 0 if commands and is_in_order else FOUND


def path_of(place: str) -> str:
    """Give the path of the settings of a place."""
    if place != USER:
        name = "settings.local.json" if place == LOCAL else "settings.json"
        return os.path.join(".claude", name)
    folder = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.join("~", ".claude")
    return os.path.join(os.path.expanduser(folder), "settings.json")


def _changed(place: str, change: Change, told: Sequence[str], is_agreed: bool) -> int:
    path = path_of(place)
    # What a project brings along must not lead to files outside of it; your own settings may.
    within = None if place == USER else (os.curdir,)
    try:
        target_of(path, within)
        before = _read(path)
        after = change(before)
        if after == before:
            say(printable(f"{path}: nothing to change"))
            return 0
        text = json.dumps(after, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        _show(path, text if after else "")
        for warning in told:
            complain(warning)
        if not (is_agreed or _may_write()):
            say("nothing was changed")
            return 0
        if after:
            os.makedirs(os.path.dirname(os.path.realpath(path)), exist_ok=True)
            with replaced_file(path, within) as file:
                file.write(text)
        else:
            _remove(path)
    except _TROUBLE as error:
        complain(f"{path}: {reason_of(error)}; nothing was changed")
        return COULD_NOT_RUN
    say(printable(f"{'written' if after else 'removed, as nothing else was in it'}: {path}"))
    return 0


def _show(path: str, text: str) -> None:
    """Show what will change."""
    new = path if text else os.devnull
    for line in difflib.unified_diff(
        _text(path).splitlines(), text.splitlines(), path, new, lineterm=""
    ):
        say(printable(line))


def _may_write() -> bool:
    if sys.stdin is None or not sys.stdin.isatty():
        raise ValueError("nobody is there to be asked: say --yes")
    sys.stdout.write("Write this? [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _remove(path: str) -> None:
    """Remove a file, and the link to it if it is one."""
    for each in {os.path.realpath(path), path}:
        if os.path.lexists(each):
            os.unlink(each)


def _wrong(settings: Dict[str, Any], found: Dict[str, List[str]]) -> Iterator[str]:
    """Say what keeps a hook that is installed from being called."""
    missing = [event for event in EVENTS if not found[event]]
    if missing:
        yield f"not called at {', '.join(missing)}; --install again"
    if settings.get("disableAllHooks") is True:
        yield "disableAllHooks switches all hooks off"
    for command in sorted({command for each in found.values() for command in each}):
        program = missing_program(command)
        if program:
            yield f"there is no program {program}; --install again"


def _read(path: str) -> Any:
    text = _text(path)
    return json.loads(text) if text.strip() else {}


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8-sig", opener=opener) as file:
            return file.read()
    except FileNotFoundError:
        return ""
