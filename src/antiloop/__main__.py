"""``python -m antiloop``, and the command ``antiloop``."""

import gc
import sys

_FOR_PEOPLE = {"--install", "--uninstall", "--status", "--help", "-h"}


def main() -> int:
    """Run a command and return its exit status."""
    # An agent starts its hook for each call of a tool: that goes round all other commands.
    if sys.argv[1:2] == ["hook"] and not _is_person():
        from .integrations.hooks.hook_agents import AGENTS
        from .integrations.hooks.hook_process import main as answer

        name = "".join(sys.argv[2:3])
        if name in AGENTS:
            return answer(sys.argv[3:], name)
    try:
        from .cli import main as run_command
    except KeyboardInterrupt:  # too early to report it
        return 130
    if hasattr(gc, "freeze"):  # what is imported stays, so no collection need look at it again
        gc.freeze()
    return run_command()


def _is_person() -> bool:
    """Whether a person asks: for a change of the settings, for help, or with nothing piped in."""
    return not _FOR_PEOPLE.isdisjoint(sys.argv) or bool(sys.stdin and sys.stdin.isatty())


if __name__ == "__main__":
    sys.exit(main())
