"""Text in lines that fit a terminal, counted in the columns that it takes there."""

import re
import unicodedata
from typing import Iterator, List, Optional

_STYLE = re.compile(r"\x1b\[\d*m")
_WORD = re.compile(r"(?<! ) *[^ ]+")


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
