"""Folders that are one recording, with a file for each part.

OpenHands writes one file an event, and opencode, up to its version 1.1, one for each message and
each part of one.
"""

import json
import os
import re
from typing import Any, Dict, Iterator, List, Tuple

from ..._regular_file import NotRegular, opener
from ..._text.canonical import json_or

_EVENT = re.compile(r"(?:event-)?(\d+)(?:-[\w-]+)?\.json")
_ENDING = ".json"
_NUMBER = re.compile(r"(\d+)")
_ONE_LINE = str.maketrans("\r\n", "  ")
"""No string of JSON holds the end of a line; what else ends one, such as U+2028, it may hold."""


def is_recording(folder: str) -> bool:
    return bool(_events_in(folder)) or _is_storage(folder)


def values_in(folder: str, max_length: int) -> Iterator[Tuple[int, str, str]]:
    """Yield the JSON values of a folder, numbered, each as text or with why it cannot be read."""
    if _is_storage(folder):
        for number, (session, broken) in enumerate(_sessions_in(folder, max_length), 1):
            yield number, json.dumps(session), ""
            yield from ((number, "", each) for each in broken)
        return
    for number, path in enumerate(_events_in(folder), 1):
        text, why_not = _text(path, max_length)
        yield number, text.translate(_ONE_LINE), why_not


def _names(folder: str) -> List[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _documents_in(folder: str) -> List[str]:
    return sorted((name for name in _names(folder) if name.endswith(_ENDING)), key=_natural)


def _events_in(folder: str) -> List[str]:
    """Return the files of a folder of events, in their order; none of another folder."""
    if os.path.basename(os.path.abspath(folder)) != "events":
        return []
    names = _documents_in(folder)
    events = [(int(found[1]), name) for name in names if (found := _EVENT.fullmatch(name))]
    if len(events) < len(names):
        return []
    return [os.path.join(folder, name) for _, name in sorted(events)]


def _is_storage(folder: str) -> bool:
    return {"message", "part"} <= set(_names(folder))


def _sessions_in(folder: str, max_length: int) -> Iterator[Tuple[Dict[str, Any], List[str]]]:
    """Yield each session, and which of its files cannot be read."""
    for session in sorted(_names(os.path.join(folder, "message"))):
        messages: List[Any] = []
        broken: List[str] = []
        place = os.path.join(folder, "message", session)
        for name in _documents_in(place):
            info = _value(os.path.join(place, name), max_length, broken)
            own = os.path.join(folder, "part", name[: -len(_ENDING)])
            parts = (os.path.join(own, part) for part in _documents_in(own))
            held = [_value(part, max_length, broken) for part in parts]
            messages.append({"info": info, "parts": held})
        yield {"info": {"id": session}, "messages": messages}, broken


def _natural(name: str) -> List[Tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (0, part) for part in _NUMBER.split(name)]


def _value(path: str, max_length: int, broken: List[str]) -> Any:
    """Return the object in a file; note why there is none."""
    text, why_not = _text(path, max_length)
    value = json_or(text)
    if not isinstance(value, dict):
        broken.append(why_not or f"{os.path.basename(path)!r} is not a JSON object")
    return value


def _text(path: str, max_length: int) -> Tuple[str, str]:
    """Return what a file holds, or why that is not known."""
    name = os.path.basename(path)
    try:
        with open(path, "rb", opener=opener) as file:
            data = file.read(max_length + 1)
    except (OSError, NotRegular) as error:
        return "", f"{name!r} cannot be read: {error.strerror or error}"
    if len(data) > max_length:
        return "", f"{name!r} is longer than {max_length:,} bytes"
    return data.decode("utf-8", "surrogateescape"), ""
