"""The difference between two texts, in few characters, and a long text in short."""

import json
import re
from operator import lt
from typing import Any, Callable, Iterator, List, Optional

from .canonical import json_or
from .shortening import cut_ends, ends_of

_AROUND = 30
"""Characters of what is equal that are shown before a difference."""
_LONGEST = 4_000
"""Characters of a text that are compared."""
_LINE = 200
"""Characters of a line from the middle of a text that are shown."""
# Shown to a judge only: no verdict depends on these words.
_TELLING = re.compile(
    r"error|fail|exception|traceback|assert|panic|fatal|denied|refused|not found"
    r"|exit (?:code|status)|\bpass(?:ed)?\b|\btests? run",
    re.IGNORECASE,
)
_NOISE = re.compile(
    r"\x1b\[[0-9;]*[A-Za-z]"
    r"|\b(?:\d{4}-\d\d-\d\d[T ])?\d\d?:\d\d:\d\d(?:[.,]\d+)?Z?"
    r"|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
    r"|\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{10,64}\b|0x[0-9a-f]{6,}\b|\b[A-Za-z0-9+/]{60,}={0,2}"
)
# Numbers of lines, which an edit moves: a.py:12:, line 12; at the beginning 12→, 12:, 12 |.
_PLACE = re.compile(r"(\.[A-Za-z]\w{0,5}[:-])\d+(?=[:-])(?::\d+)?|(\bline )\d+")
_GUTTER = re.compile(r"\A[ \t]*(?:\d+(?=→| ?\||: ?(?!\d))|(?<=[ \t])\d+(?=\t))")
_LAYERS = 6
"""The number of layers of JSON that are opened."""


def opened(text: str) -> str:
    r"""Return the fields of JSON that hold something, one a line; any other text as it is.

    Programs wrap what a tool gave in objects, often as JSON within JSON. Cut in the middle, only
    the wrapping would be left of it, and it has no lines that can be compared.

    >>> opened('{"stdout": "a\\nb", "stderr": "", "code": 0}')
    'stdout: a\nb\ncode: 0'
    >>> opened('{"content": [{"type": "text", "text": "{\\"n\\": 1}"}], "meta": null}')
    'content.text.n: 1'
    """
    value = _parsed(text)
    return text if value is text else "\n".join(_lines(value, "", _LAYERS)) or text


def _parsed(value: Any) -> Any:
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    return json_or(value, value)


def _lines(value: Any, name: str, layers: int) -> Iterator[str]:
    value = _parsed(value) if layers else value
    if isinstance(value, list) and layers:
        for each in value:
            yield from _lines(each, name, layers - 1)
    elif isinstance(value, dict) and layers:
        is_text = value.get("type") == "text"  # a block of MCP and of most models
        for own, part in value.items():
            if not (is_text and own == "type") and part not in (None, "", [], {}):
                yield from _lines(part, f"{name}.{own}" if name else str(own), layers - 1)
    else:
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        yield f"{name}: {shown}" if name else shown


def changed_part(old: str, new: str) -> Optional[str]:
    """Return the one place in which two texts differ; None if it is over half of the new one.

    >>> changed_part("sed -n 1,80p /src/main.py", "sed -n 40,80p /src/main.py")
    'sed -n [1 -> 40],80p /src/main.py'
    """
    old, new = old[:_LONGEST], new[:_LONGEST]
    shorter = min(len(old), len(new))
    start = _common(old, new, shorter)
    end = _common(old[::-1], new[::-1], shorter - start)
    before, after = old[start : len(old) - end], new[start : len(new) - end]
    if len(after) > len(new) // 2 or len(before) > len(old) // 2:
        return None
    head, tail = new[:start], new[len(new) - end :]
    return f"{_last(head)}[{ends_of(before, 120)} -> {ends_of(after, 160)}]{tail[:_AROUND]}"


def steady_lines(text: str) -> List[str]:
    r"""Return the lines of a text without their numbers, colors, clock times and random ids.

    >>> steady_lines("  7\u2192def f():\n  8\u2192    pass"), steady_lines("404: not found")
    (['#\u2192def f():', '#\u2192    pass'], ['404: not found'])
    """
    lines = [_PLACE.sub(r"\1\2#", _NOISE.sub("#", line)).rstrip() for line in text.splitlines()]
    gutters = [each[0] for each in map(_GUTTER.match, lines) if each]
    numbers = list(map(int, gutters))
    # One number may be the news, and so may those of a table; those of lines rise.
    is_numbered = len(numbers) > 1 and all(map(lt, numbers, numbers[1:]))
    return [_GUTTER.sub("#", line, 1) for line in lines] if is_numbered else lines


def new_lines(
    old: str, new: str, steady: Callable[[str], List[str]] = steady_lines
) -> Optional[str]:
    r"""Return the lines that the earlier text lacks; None if they are over half of the new one.

    They are compared as `steady` gives them; other numbers than in noise may be the news.

    >>> new_lines("a\nb\nc", "b\nc\nd")
    'd'
    >>> new_lines("run 5f2a9c81d3b4\nok", "run 77aa01b2c3d4\nok")
    ''
    """
    known, lines = set(steady(old)), new.splitlines()
    added = [line for line, bare in zip(lines, steady(new)) if bare not in known]
    if len(lines) < 2 or 2 * len(added) > len(lines):
        return None
    if not added and 2 * len(lines) < old.count("\n") + 1:
        return None  # that most of it is missing now is the news
    return "\n".join(added)


def tells(line: str) -> bool:
    """Whether a line may say how something ended."""
    return _TELLING.search(line) is not None


def telling_part(text: str, length: int) -> str:
    r"""Return a long text in short: its beginning, its end, and lines between that tell outcomes.

    >>> log = "start\n" + "ok\n" * 60 + "E assert 1 == 2\n" + "ok\n" * 60 + "end"
    >>> telling_part(log, 90).split("\n")[2:5]
    ['[...]', 'E assert 1 == 2', '[...]']
    """
    if len(text) <= length:
        return text
    head, tail = length // 8, length // 2
    room = length - head - tail - 15
    chosen: List[str] = []
    # What fails last is mostly what counts.
    for line in reversed(text[head:-tail].splitlines()):
        if tells(line):
            shown = line if len(line) <= _LINE else f"{line[:_LINE]}..."
            room -= len(shown) + 1
            if room < 0:
                break
            chosen.append(shown)
    if not chosen:
        return ends_of(text, length)
    begin, end = cut_ends(text, head, tail)
    return "\n".join([begin, "[...]", *reversed(chosen), "[...]", end])


def _common(one: str, other: str, most: int) -> int:
    """Count the characters that two texts begin with alike."""
    low, high = 0, most
    while low < high:  # comparing slices is fast, comparing characters is not
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def _last(head: str) -> str:
    return head if len(head) <= 2 * _AROUND else f"...{head[-_AROUND:]}"
