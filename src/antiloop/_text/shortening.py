"""Texts that are too long to be shown, or come from elsewhere, as they are shown."""

import re
from typing import Any, Dict, Iterator, List, Tuple
from unicodedata import category

_WORDS = re.compile(r"(?:\S*\s)*")

MASK = "***"
"""Shown in the place of a secret."""
LABEL_LENGTH = 60
"""Characters of the arguments that are shown to a person or a model."""
NAME_LENGTH = 200
"""Characters of a name that are shown; providers allow 64 or 128, but models make up others."""


def shortened(text: str, length: int = LABEL_LENGTH) -> str:
    """Cut a text in the middle, so that both ends stay readable."""
    if len(text) <= length:
        return text
    half = (length - 3) // 2
    return f"{text[:half]}...{text[-half:]}"


def visible(text: str, length: int = 300) -> str:
    r"""Make untrusted text safe to show: one line, no characters that command or cannot be seen.

    An escaped character counts as one, so the place of a cut does not depend on escapes.

    >>> print(visible("日本語\u3000\u202etxt\n"))
    日本語　\u202etxt\n
    """
    part = shortened(text, length)
    if not part.isprintable():
        part = "".join(map(_visible_char, part))
    return part


def _visible_char(char: str) -> str:
    # The blanks of other scripts count as not printable, but no blank turns or hides anything.
    return char if char.isprintable() or category(char) == "Zs" else escaped(char)


def escaped(char: str) -> str:
    r"""Write a character as Python does.

    >>> print(escaped(chr(27)))
    \x1b
    """
    return char.encode("unicode_escape").decode("ascii")


def beginning_of(value: Any, length: int = 2_000) -> Any:
    """Return the beginning of plain JSON values, enough to make a label of.

    A text is cut between two words: half a secret would not be recognized as one.

    >>> beginning_of({"a": "one two three", "b": "four"}, 11)
    {'a': 'one two ...', '...': '...'}
    """
    return _cut(value, [length])


def _cut(value: Any, left: List[int]) -> Any:
    if isinstance(value, dict):
        return dict(_entries(value, left))
    if isinstance(value, list):
        return list(_items(value, left))
    if not isinstance(value, str):
        left[0] -= 10
        return value
    room = max(left[0], 0)
    left[0] -= len(value)
    if len(value) <= room:
        return value
    words = _WORDS.match(value, 0, room)
    return f"{words[0] if words else ''}..."


def _entries(value: Dict[str, Any], left: List[int]) -> Iterator[Tuple[str, Any]]:
    for key in sorted(value):
        if left[0] < 0:
            yield "...", "..."
            return
        left[0] -= len(key)  # a key is kept whole: it names what follows
        yield key, _cut(value[key], left)


def _items(value: List[Any], left: List[int]) -> Iterator[Any]:
    for item in value:
        if left[0] < 0:
            yield "..."
            return
        yield _cut(item, left)


def ends_of(text: str, length: int) -> str:
    r"""Return both ends of a long text, cut between lines or words: what is new is mostly there.

    Half a secret would not be recognized as one, so the end begins with a whole line or word.

    >>> ends_of("one two three four five six seven eight nine ten", 42)
    'one [...] six seven eight nine ten'
    """
    if len(text) <= length:
        return text
    return " [...] ".join(cut_ends(text, max(0, length // 3 - 7), length - length // 3))


def cut_ends(text: str, head: int, tail: int) -> Tuple[str, str]:
    """Return so much of both ends of a text, without the lines or words that are cut in two."""
    begin, end = text[:head], text[-tail:]
    at_line, at_word = end.find("\n"), end.find(" ")
    cut = at_line if 0 <= at_line < tail // 2 else at_word
    spaces = max(begin.rfind(" "), begin.rfind("\n"))
    return begin[: max(0, spaces)], end[cut + 1 :] if cut >= 0 else ""
