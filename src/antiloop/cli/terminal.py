"""Writing text that is not ours to a terminal."""

import sys


def printable(text: str) -> str:
    r"""Escape what could command a terminal.

    >>> print(printable(chr(27) + "[2J"))
    \x1b[2J
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def say(text: str) -> None:
    """Write a line to standard output."""
    sys.stdout.write(text + "\n")


def complain(what: str) -> None:
    """Write a line to standard error, escaped."""
    sys.stderr.write(printable(f"antiloop: {what}") + "\n")


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
