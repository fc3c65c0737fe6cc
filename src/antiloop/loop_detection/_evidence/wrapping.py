r"""Wrapping: the parts of an answer that come from a host, which are left out of comparisons.

The same answer then compares alike for every host, and its words stand where the rules look for
them. Only what says nothing by itself is left out: the content of MCP, an object whose other fields
are verdicts of success, ids of the call and times, an element or a fence around everything, colors,
and, at its end, a remark that is nothing but a time or an element in which the system speaks.
"""

import re
from typing import Any, Dict, Optional

from .structure import (
    CODES,
    MOST,
    PRINTED,
    SPOKEN,
    VERDICTS,
    is_about_the_call,
    parsed,
    text_of_blocks,
)

_LAYERS = 4
_STYLE = r"(?:\x1b\[[0-9;]{0,20}m){1,3}"
# Only around everything: within a screen, a color may mark what is chosen.
_STYLED = re.compile(rf"\A{_STYLE}([^\x1b]*){_STYLE}\s*\Z")
_OVERWRITTEN = re.compile(r"\r(?=[^\r\n])")
_CLOCK = re.compile(
    r"^[\[(]?(?:\d{4}-\d\d-\d\d[T ])?\d\d?:\d\d:\d\d(?:[.,]\d+)?"
    r"(?:Z|[+-]\d\d:?\d\d)?[\])]?:?[ \t]+",
    re.MULTILINE,
)
_TIME = r"\d+(?:\.\d+)? ?(?:[nmuµ]?s|secs?|seconds?|minutes?)"
_REMARK = re.compile(rf"\n[ \t]{{0,9}}[\[(][^\[\]()\d\n]{{0,30}}{_TIME}[\])]\s*\Z")
_LONGEST_REMARK = 80
_ASIDE = "</system"
_FENCE = re.compile(r"\s*(`{3,})[\w-]{0,20}\n(.*?)\n?\1\s*\Z", re.DOTALL)
_ATTRIBUTE = r"\s+(?!status|state|code|exit|error|ok|success)[\w:-]{1,40}=\"[^\"<>\n]{0,99}\""
_ELEMENT = re.compile(
    rf"\s*<([A-Za-z][\w-]{{0,40}})(?:{_ATTRIBUTE}){{0,8}}>(.*)</\1>\s*\Z", re.DOTALL
)
_ID = re.compile(r"(?:tool_?)?(?:call|request|tool_?use|execution|run)_?id", re.IGNORECASE)


def unwrapped(text: str, layers: int = _LAYERS) -> str:
    r"""Return what a tool gave; an answer around which nothing was put is given back as it is.

    >>> unwrapped('{"content": [{"type": "text", "text": "3 files"}], "isError": false}')
    '3 files'
    >>> unwrapped('{"status": "success", "data": "No files found", "took_ms": 12}')
    'No files found'
    >>> unwrapped('{"status": "running", "log": "step 3 of 9"}')
    '{"status": "running", "log": "step 3 of 9"}'
    >>> unwrapped("[10:00:07] ok\n[completed in 0.83s]")
    'ok'
    """
    if "\r" in text and _OVERWRITTEN.search(text):
        # A terminal shows what was written last, as of a progress bar.
        lines = text.split("\n")
        text = "\n".join([line.rstrip("\r").rpartition("\r")[2] for line in lines])
    if text[:1] == "\x1b":
        text = _STYLED.sub(r"\1", text)
    text = _without_remark(_without_clocks(text))
    inner = _inner(text) if layers and len(text) <= MOST else None
    return text if inner is None else unwrapped(inner, layers - 1)


def is_object(text: str) -> bool:
    """Whether an answer is an object that the tool made; the content of MCP is one of the host.

    >>> is_object('{"status": "success", "message": "The item was handled"}')
    True
    >>> is_object('{"content": [{"type": "text", "text": "3 files"}], "isError": false}')
    False
    """
    value = parsed(text)
    return isinstance(value, dict) and not isinstance(value.get("content"), list)


def _without_clocks(text: str) -> str:
    """Leave out a clock in brackets before a text, or any clock before each of its lines."""
    if _CLOCK.match(text) is None:
        return text
    bare, count = _CLOCK.subn("", text)
    if count == text.rstrip().count("\n") + 1:
        return bare
    return _CLOCK.sub("", text, 1) if text[0] in "[(" else text


def _without_remark(text: str) -> str:
    said = text.rstrip()
    start = -1
    if said[-1:] in ("]", ")"):
        end = text[-_LONGEST_REMARK:]
        found = _REMARK.search(end)
        start = -1 if found is None else len(text) - len(end) + found.start()
    elif said[-1:] == ">":
        name = said[said.rfind(_ASIDE) + 2 :]
        start = said.rfind(f"\n<{name}")
    return text if start < 0 else text[:start].rstrip()


def _inner(text: str) -> Optional[str]:
    """Return the text inside one layer; None where there is no layer."""
    value = parsed(text)
    if value is not None:
        return text_of_blocks(value) if isinstance(value, list) else _of_fields(value)
    first = text.lstrip()[:1]
    if first == "`":
        fence = _FENCE.match(text)
        return fence[2] if fence and "```" not in fence[2] else None
    if first == "<":
        element = _ELEMENT.match(text)
        inner = element[2].strip() if element else ""
        # Of several elements, and of a value such as a state, the names are part of the answer.
        is_whole = inner.startswith("<") or "</" not in inner
        return inner if is_whole and _says_something(inner) else None
    return None


def _of_fields(value: Dict[str, Any], layers: int = _LAYERS) -> Optional[str]:
    left = [(name, each) for name, each in value.items() if not _is_of_host(name, each)]
    if len(left) != 1:
        return None
    [(name, only)] = left
    if len(value) == 1 and name.lower() not in (*PRINTED, *SPOKEN, "content", "data"):
        return None  # a value under its name
    if isinstance(only, list):
        return text_of_blocks(only)
    if isinstance(only, dict):
        return _of_fields(only, layers - 1) if layers else None
    return only if isinstance(only, str) and _says_something(only) else None


def _is_of_host(name: str, value: Any) -> bool:
    """Whether a field says only that and how the call went."""
    plain = name.lower().replace("-", "_")
    if value in ("", None):
        return True
    if isinstance(value, bool):
        return plain in (VERDICTS if value else ("iserror", "is_error"))
    if plain in CODES:
        return bool(value == 0)
    return is_about_the_call(plain, value) or _ID.fullmatch(plain) is not None


def _says_something(text: str) -> bool:
    """Whether a text is data, or has several words: a single one may be an id, or a state."""
    said = text.strip()
    return f"{said[:1]}{said[-1:]}" in ("{}", "[]") or len(said.split(None, 2)) > 1
