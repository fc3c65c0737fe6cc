"""``python -m antiloop``, and the command ``antiloop``."""

import gc
import os
import sys

_FOR_PEOPLE = {"--install", "--uninstall", "--status", "--help", "-h"}


def main() -> None:
    """Run a command as a separate process, and end it."""
    is_event, status = _is_event(), _status()
    if not is_event:
        sys.exit(status)
    # Python would tidy up for longer than it has looked at the event.
    try:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
    finally:
        os._exit(status)


def _status() -> int:
    """Run a command and return its exit status."""
    # An agent starts its hook for each call of a tool: that goes round all other commands.
    if _is_event():
        name = "".join(sys.argv[2:3])
        if name[:1] not in ("", "-"):  # else a person looks for the command
            from .integrations._internal import hook_process

            return hook_process.main(sys.argv[3:], name)
    try:
        from .cli import main as run_command
    except KeyboardInterrupt:  # too early to report it
        return 130
    if hasattr(gc, "freeze"):  # what is imported stays, so no collection need look at it again
        gc.freeze()
    return run_command()


def _is_event() -> bool:
    """Whether an agent calls its hook, and no person asks for a change of settings or for help."""
    if sys.argv[1:2] != ["hook"] or not _FOR_PEOPLE.isdisjoint(sys.argv):
        return False
    return not (sys.stdin and sys.stdin.isatty())


if __name__ == "__main__":
    main()
