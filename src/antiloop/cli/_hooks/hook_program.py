"""The command with which an agent starts the hook, and what in it depends on this machine."""

import os
import shlex
import shutil
import subprocess
import sys
from typing import List, Optional, Sequence

_START_UP = "import antiloop.__main__ as antiloop"
START = f"{_START_UP}; antiloop.main()"


def command_of(agent: str, options: Sequence[str], *, is_shared: bool) -> str:
    """Return the command for the settings.

    Args:
        agent: its name.
        options: of the hook.
        is_shared: whether people on other machines use these settings.
    """
    return shlex.join([*_program(is_shared), "hook", agent, *options])


def warnings(config: Optional[str], *, has_local: bool) -> List[str]:
    """List what in the command works on this machine only.

    Args:
        config: the path of the configuration in it, if any.
        has_local: whether the agent has private settings for a project.
    """
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
