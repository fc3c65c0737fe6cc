"""Adding the hook to the settings of an agent, removing it, and showing where it is."""

import difflib
import os
import shlex
import shutil
import subprocess
import sys
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Set

from ..._regular_file import opener
from ..._replaced_file import replaced_file, target_of
from .._command import FOUND, CommandFailed, naming, reason_of
from .._output.terminal import complain, printable, say
from .agent_settings import LOCAL, PROJECT, USER, AgentSettings

_TROUBLE = (OSError, ValueError, RecursionError)
Edit = Callable[[Any], Any]


def install(
    agent: AgentSettings,
    place: str,
    options: Sequence[str],
    config: Optional[str],
    *,
    is_agreed: bool = False,
) -> None:
    is_shared = place == PROJECT
    command = command_of(agent.name, options, is_shared=is_shared)
    cautions = warnings(config, has_local=LOCAL in agent.files) if is_shared else ()
    _change(agent, place, lambda settings: agent.with_hook(settings, command), cautions, is_agreed)
    if agent.note:
        say(agent.note)


def uninstall(agent: AgentSettings, place: str, *, is_agreed: bool = False) -> None:
    """Make an agent stop calling the hook."""
    _change(agent, place, agent.without_hook, (), is_agreed)


def show_status(agent: AgentSettings) -> int:
    """Show where the hook is installed and what keeps it from running; return the exit status."""
    commands: Set[str] = set()
    is_in_order = True
    for place in agent.files:
        path = agent.path_of(place)
        with naming(path, _TROUBLE):
            settings = agent.parsed(_text(path))
            found = agent.commands_in(settings)
        here = {command for each in found.values() for command in each}
        say(printable(f"{path}: {', '.join(sorted(here)) or 'not installed'}"))
        troubles = list(_wrong(agent, settings, found)) if here else []
        if here and place == PROJECT and agent.distrust is not None:
            troubles += filter(None, [agent.distrust(agent.home)])
        for what in troubles:
            is_in_order = False
            say(printable(f"  {what}"))
        commands |= here
    if len(commands) > 1:
        say("Several commands call the hook, so it judges each call several times.")
    return 0 if commands and is_in_order else FOUND


def _change(
    agent: AgentSettings,
    place: str,
    change: Edit,
    cautions: Sequence[str],
    is_agreed: bool,
) -> None:
    path = agent.path_of(place)
    # Links in a project must not lead to files outside of it; those in your own settings may.
    within = None if place == USER else (os.curdir,)
    try:
        target_of(path, within)
        before = agent.parsed(_text(path))
        after = change(before)
        if after == before:
            say(printable(f"{path}: nothing to change"))
            return
        text = agent.written(after)
        _show(path, text if after else "")
        for warning in cautions:
            complain(warning)
        if not (is_agreed or _may_write()):
            say("Nothing was changed.")
            return
        if after:
            os.makedirs(os.path.dirname(os.path.realpath(path)), exist_ok=True)
            with replaced_file(path, within) as file:
                file.write(text)
        else:
            _remove(path)
    except _TROUBLE as error:
        raise CommandFailed(f"{path}: {reason_of(error)}. Nothing was changed.") from error
    say(printable(f"{'written' if after else 'deleted, because nothing else was in it'}: {path}"))


def _show(path: str, text: str) -> None:
    """Show what will change."""
    new = path if text else os.devnull
    for line in difflib.unified_diff(
        _text(path).splitlines(), text.splitlines(), path, new, lineterm=""
    ):
        say(printable(line))


def _may_write() -> bool:
    if sys.stdin is None or not sys.stdin.isatty():
        raise ValueError("not a terminal, cannot ask. Use --yes")
    sys.stdout.write("Write this? [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _remove(path: str) -> None:
    """Remove a file, and the link to it if it is one."""
    for each in {os.path.realpath(path), path}:
        if os.path.lexists(each):
            os.unlink(each)


def _wrong(agent: AgentSettings, settings: Any, found: Dict[str, List[str]]) -> Iterator[str]:
    """List what keeps an installed hook from being called."""
    missing = [event for event in agent.events if not found[event]]
    if missing:
        yield f"the hook is not called at {', '.join(missing)}; run --install again"
    if isinstance(settings, dict) and settings.get("disableAllHooks") is True:
        yield "disableAllHooks turns all hooks off"
    for command in sorted({command for each in found.values() for command in each}):
        program = missing_program(command)
        if program:
            yield f"program {program} not found; run --install again"


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8-sig", opener=opener) as file:
            return file.read()
    except FileNotFoundError:
        return ""


_START_UP = "import antiloop.__main__ as antiloop"
START = f"{_START_UP}; antiloop.main()"


def command_of(agent: str, options: Sequence[str], *, is_shared: bool) -> str:
    """Return the command for the settings."""
    return shlex.join([*_program(is_shared), "hook", agent, *options])


def warnings(config: Optional[str], *, has_local: bool) -> List[str]:
    """List what in the command works on this machine only."""
    found = []
    if shutil.which("antiloop") is None:
        found.append(f"the path of this machine's Python, {sys.executable}")
    elif _is_of_environment():
        found.append(f"a command of the virtual environment {sys.prefix}")
    if config is not None:
        found.append(f"the path of this machine's {config}")
    if not found:
        return []
    instead = "use --local to write your own settings for this project"
    if not has_local:
        instead = "use --user to write your own settings"
    return [
        f"everyone on the project shares these settings, and other machines may not have"
        f" {' and '.join(found)}; {instead}"
    ]


def missing_program(command: str) -> Optional[str]:
    """Return the program of a command if it is missing; otherwise None."""
    try:
        program = shlex.split(command)[0]
    except ValueError:
        return command
    return None if shutil.which(program) else program


def _program(is_shared: bool) -> List[str]:
    """Choose how to call antiloop: shared settings should not contain a path."""
    if is_shared and shutil.which("antiloop"):
        return ["antiloop"]
    # The quickest start, and the only one in which project modules cannot shadow others.
    quick = [sys.executable, "-I", "-c"]
    return [*quick, START] if _works([*quick, _START_UP]) else [sys.executable, "-m", "antiloop"]


def _is_of_environment() -> bool:
    """Whether the program on the PATH belongs to the current virtual environment."""
    found = shutil.which("antiloop")
    if sys.prefix == sys.base_prefix or found is None:
        return False
    return os.path.dirname(found).startswith(os.path.join(sys.prefix, ""))


def _works(command: List[str]) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0  # noqa: S603
