"""Writing to a terminal: foreign text is escaped, lines fit, and words may have colors.

`choose` sets once for the process how much is printed and whether in color.
"""

import os
import re
import sys
import unicodedata
from typing import Iterator, List, Optional, TextIO

from ..._short_repr import counted as counted
from ..._text.shortening import NAME_LENGTH, escaped, visible

_STYLE = re.compile(r"\x1b\[\d*m")
_WORD = re.compile(r"(?<! ) *[^ ]+")
_LISTED_IDS = 5


def fitted(line: str, width: int, hang: Optional[int] = None) -> List[str]:
    """Break a line between words, and inside one only where it is longer than a line.

    Args:
        line: one line; our own colors take no room.
        width: columns of the terminal, 1 or more.
        hang: how far further lines are indented, but never by more than a third of the width;
            two more than the first if None.

    >>> fitted("  step 3  a long message", 16, 4)
    ['  step 3  a long', '    message']
    """
    if len(line) <= width and line.isascii() and "\x1b" not in line:
        return [line]
    indent = len(line) - len(line.lstrip(" "))
    before = " " * min(indent + 2 if hang is None else hang, width // 3)
    lines = [""]
    for word in _words(line, width - len(before)):
        if columns(lines[-1] + word) <= width:
            lines[-1] += word
        else:
            lines.append(before + word.lstrip(" "))
    return lines


def columns(text: str) -> int:
    r"""Count the columns of a text: East Asian characters take two, marks on others none.

    >>> columns("käse"), columns("日本"), columns("e\u0301")
    (4, 4, 1)
    """
    if text.isascii() and "\x1b" not in text:
        return len(text)
    return sum(map(_columns_of_char, _STYLE.sub("", text)))


def clipped(text: str, width: int, *, pad: bool = False) -> str:
    """Cut the end off a text without styles that takes more columns than there are.

    Args:
        text: one line.
        width: columns, 0 or more.
        pad: fill up to this width.

    >>> clipped("antiloop", 6), clipped("日本", 3), clipped("a", 3, pad=True)
    ('ant...', '...', 'a  ')
    """
    if columns(text) > width:
        end = "..."[:width]
        room, kept = width - len(end), ""
        for char in text:
            room -= _columns_of_char(char)
            if room < 0:
                break
            kept += char
        text = kept + end
    return text + " " * (width - columns(text)) * pad


def _words(line: str, room: int) -> Iterator[str]:
    """Yield each word with the blanks before it, in parts where it is longer than a line."""
    for match in _WORD.finditer(line):
        word = match[0]
        if columns(word) <= room or "\x1b" in word:
            yield word
        else:
            yield from _parts(word, room)


def _parts(word: str, room: int) -> Iterator[str]:
    part, size = "", 0
    for char in word:
        wide = _columns_of_char(char)
        if part and size + wide > room:
            yield part
            part, size = "", 0
        part += char
        size += wide
    yield part


def _columns_of_char(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


_CLEAR = "\r\x1b[K"
_STYLES = {"red": "31", "yellow": "33", "green": "32"}
_COLUMNS = 80
_LINE = 2_000
"""Characters of a line that holds text that is not ours."""
_shown = ""
_verbosity = 0
_color = "auto"


def choose(verbosity: int = 0, color: str = "auto") -> None:
    """Choose what is printed from now on.

    Args:
        verbosity: below 0 for findings and trouble only, above 0 for details too.
        color: ``auto``, ``always`` or ``never``.
    """
    global _verbosity, _color
    _verbosity, _color = verbosity, color


def is_quiet() -> bool:
    """Whether only findings and errors are printed."""
    return _verbosity < 0


def is_verbose() -> bool:
    """Whether details are printed too."""
    return _verbosity > 0


def printable(text: str) -> str:
    r"""Escape what could command a terminal.

    >>> print(printable(chr(27) + "[2J"))
    \x1b[2J
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else escaped(char) for char in text)


def line_of(text: str) -> str:
    """Escape a line as `printable` does, and cut out the middle of one that is very long."""
    return visible(text, _LINE)


def named(name: str) -> str:
    """Return the name of a tool, or the id of a run, as it is shown."""
    return visible(name, NAME_LENGTH)


class SeenIds:
    """The ids of the runs that were passed over, to tell which there are where one is not found."""

    def __init__(self) -> None:
        self._first: List[str] = []
        self._count = 0

    def add(self, run_id: str) -> None:
        """Take the id of the next run; only the first few are kept."""
        self._count += 1
        if self._count <= _LISTED_IDS:
            self._first.append(named(run_id))

    def __str__(self) -> str:
        if not self._count:
            return "there are none"
        more = self._count - len(self._first)
        return f"there are {', '.join(self._first)}" + (f" and {more} more" if more else "")


def painted(text: str, style: str, stream: Optional[TextIO] = None) -> str:
    """Color a word if the stream shows colors; None means standard output."""
    if not _shows_colors(stream or sys.stdout):
        return text
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"


def say(text: str, end: str = "\n") -> None:
    """Write a line to standard output as it is, or, with another end, a part of one."""
    show_status("")
    sys.stdout.write(text + end)


def tell(line: str, hang: Optional[int] = None) -> None:
    """Write a line for a person, which a terminal gets in lines that fit.

    Args:
        line: what may be shown; see `printable`.
        hang: how far further lines are indented; somewhat more than the first if None.
    """
    width = page_columns()
    say(line if width is None else "\n".join(fitted(line, width, hang)))


def page_columns() -> Optional[int]:
    """Return the width of standard output; None if it is not a terminal."""
    return columns_of(sys.stdout) if sys.stdout.isatty() else None


def tell_page(text: str) -> None:
    """Write lines for a person."""
    for line in text.split("\n"):
        tell(line)


def complain(what: str) -> None:
    """Write an error line to standard error, escaped."""
    _write_error(painted("antiloop:", "red", sys.stderr), what)


def note(what: str, *, always: bool = False) -> None:
    """Write an informative line to standard error, escaped, where that is not silenced."""
    if always or not is_quiet():
        _write_error("antiloop:", what)


def detail(what: str) -> None:
    """Write a line to standard error if details were asked for, escaped."""
    if is_verbose():
        _write_error("antiloop:", what)


def show_status(text: str) -> None:
    """Show the progress of the work in one line, replacing the last; empty text clears it.

    Only for a person: ask `is_watched` before.
    """
    global _shown
    if text or _shown:
        # A text that fills the line would continue on the next one, which cannot be cleared.
        line = fitted(printable(text), max(1, columns_of(sys.stderr) - 1))[0]
        sys.stderr.write(_CLEAR + line)
        sys.stderr.flush()
    _shown = text


def is_watched() -> bool:
    """Whether standard error is a terminal and not silenced."""
    return sys.stderr.isatty() and not is_quiet()


def columns_of(stream: TextIO) -> int:
    """Return the width of a terminal in characters: COLUMNS if set, otherwise its own answer."""
    chosen = os.environ.get("COLUMNS", "")
    if chosen.isascii() and chosen.isdigit() and int(chosen):
        return int(chosen)
    try:
        return os.get_terminal_size(stream.fileno()).columns or _COLUMNS
    except (OSError, ValueError):  # it only looks like a terminal
        return _COLUMNS


def _write_error(who: str, what: str) -> None:
    show_status("")
    sys.stderr.write(f"{who} {line_of(what)}\n")


def _shows_colors(stream: TextIO) -> bool:
    if _color != "auto":
        return _color == "always"
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()
