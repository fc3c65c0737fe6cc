"""Writing text that is not ours to a terminal, and a line that says how far the work has come."""

import sys

from ..short_repr import counted as counted

_CLEAR = "\r\x1b[K"
_shown = ""


def printable(text: str) -> str:
    r"""Escape what could command a terminal.

    >>> print(printable(chr(27) + "[2J"))
    \x1b[2J
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def say(text: str, end: str = "\n") -> None:
    """Write a line to standard output, or, with another end, a part of one."""
    show_status("")
    sys.stdout.write(text + end)


def complain(what: str) -> None:
    """Write a line to standard error, escaped."""
    show_status("")
    sys.stderr.write(printable(f"antiloop: {what}") + "\n")


def show_status(text: str) -> None:
    """Show how far the work has come, in place of what was shown; empty text takes it away.

    Only for a person: ask `is_watched` before.
    """
    global _shown
    if text or _shown:
        sys.stderr.write(_CLEAR + text)
        sys.stderr.flush()
    _shown = text


def is_watched() -> bool:
    """Whether a person sees what is written to standard error."""
    return sys.stderr.isatty()


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
