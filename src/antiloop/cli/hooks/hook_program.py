"""How an agent is to start the hook, and what about that depends on this machine."""

import os
import shlex
import shutil
import subprocess
import sys
from typing import List, Optional, Sequence

_START_UP = "import antiloop.__main__ as antiloop"
START = f"{_START_UP}; antiloop.main()"


def command_of(agent: str, options: Sequence[str], *, is_shared: bool) -> str:
    """Give the command that is written into settings.

    Args:
        agent: its name.
        options: of the hook.
        is_shared: whether others use these settings, on their machines.
    """
    return shlex.join([*_program(is_shared), "hook", agent, *options])


def warnings(config: Optional[str], *, has_local: bool) -> List[str]:
    """Say what of the command works on this machine only.

    Args:
        config: the path of the configuration in it, if any.
        has_local: whether the agent has settings of one's own for a project.
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
    instead = "--local writes to your own settings of the project"
    if not has_local:
        instead = "--user writes to your own settings"
    return [
        f"these settings are shared by all who work on the project, and {' and '.join(found)}"
        f" may not be there for others; {instead} instead"
    ]


def missing_program(command: str) -> Optional[str]:
    """Give the program of a command if it is not there; None if it is."""
    try:
        program = shlex.split(command)[0]
    except ValueError:
        return command
    return None if shutil.which(program) else program


def _program(is_shared: bool) -> List[str]:
    """Say how antiloop is called: in settings that are shared no path should stand."""
    if is_shared and shutil.which("antiloop"):
        return ["antiloop"]
    # The quickest start, and the only one for which modules of the project cannot get in the way.
    quick = [sys.executable, "-I", "-c"]
    return [*quick, START] if _works([*quick, _START_UP]) else [sys.executable, "-m", "antiloop"]


def _is_of_environment() -> bool:
    """Whether the program on the PATH is that of the virtual environment that this runs in."""
    found = shutil.which("antiloop")
    if sys.prefix == sys.base_prefix or found is None:
        return False
    return os.path.dirname(found).startswith(os.path.join(sys.prefix, ""))


def _works(command: List[str]) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0  # noqa: S603
