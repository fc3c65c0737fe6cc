"""Long texts, cut so that they can be shown."""

import re
from typing import Any, Dict, Iterator, List, Tuple

_WORDS = re.compile(r"(?:\S*\s)*")

LABEL_LENGTH = 60
"""Characters of the arguments that are shown to a person or a model."""


def shortened(text: str, length: int = LABEL_LENGTH) -> str:
    """Cut a text in the middle, so that both ends stay readable."""
    if len(text) <= length:
        return text
    half = (length - 3) // 2
    return f"{text[:half]}...{text[-half:]}"


def beginning_of(value: Any, length: int = 2_000) -> Any:
    """Give the beginning of plain JSON values, enough to make a label of.

    A text is cut between two words: half a secret would not be recognised as one.

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
        left[0] -= len(key)  # a key is kept whole: it tells what stands under it
        yield key, _cut(value[key], left)


def _items(value: List[Any], left: List[int]) -> Iterator[Any]:
    for item in value:
        if left[0] < 0:
            yield "..."
            return
        yield _cut(item, left)
