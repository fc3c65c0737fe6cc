"""Short hashes by which calls, results and names are compared, in this process and others."""

import json
from functools import lru_cache
from hashlib import sha256
from typing import Any, Optional

from ..._text.canonical import canonical_arguments, text_of
from ..._text.shortening import shortened

NAME_LENGTH = 128
"""Characters that a name or an id takes at most, written as JSON. APIs allow no longer names."""


def kept_name(name: str) -> str:
    """Return a name as it is, a very long one shortened so that it still differs from all others.

    >>> kept_name("search"), len(kept_name("s" * 1_000_000))
    ('search', 54)
    """
    # A model can make up a name of a megabyte, and a snapshot holds each name once.
    if len(name) <= NAME_LENGTH and _is_kept(name):
        return name
    begin = shortened(json.dumps(name[:40])[1:-1], 40)
    return f"{begin}...#{text_fingerprint(name)[:10]}"


def kept_id(call_id: Any) -> Optional[str]:
    """Return the id of a call; None if it is not a text or too long to keep whole."""
    return call_id if type(call_id) is str and _fits(call_id) else None


@lru_cache(maxsize=1024)
def _is_kept(name: str) -> bool:
    return _fits(name)


def _fits(text: str) -> bool:
    if len(text) > NAME_LENGTH:
        return False
    is_plain = text.isascii() and text.isprintable() and '"' not in text and "\\" not in text
    return is_plain or len(json.dumps(text)) - 2 <= NAME_LENGTH


KEY_LENGTH = 10
"""Hexadecimal digits of a fingerprint that are kept: 40 bits tell the calls of a window apart."""
_TOOL_DIGITS = 7
"""Those of them that tell two tools with the same arguments apart."""


def call_fingerprint(tool_name: Any, arguments: Any) -> str:
    """Return the SHA-256 of a call, as hexadecimal digits."""
    name = text_of(tool_name)
    return text_fingerprint(f"{name}\x00{canonical_arguments(arguments)}")


def text_fingerprint(text: str) -> str:
    """Return the SHA-256 of a text, as hexadecimal digits; lone surrogates are allowed."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def short_call_fingerprint(tool: str, arguments: str) -> str:
    """Return a short key: its first digits are of the arguments, the others of tool and arguments.

    Calls sorted by their keys are sorted by their arguments, whatever the tools are named.

    Args:
        tool: the name of the tool.
        arguments: as canonical JSON.
    """
    number = int(text_fingerprint(arguments)[:KEY_LENGTH], 16) ^ _tool_key(tool)
    return f"{number:0{KEY_LENGTH}x}"


@lru_cache(maxsize=1024)
def _tool_key(tool: str) -> int:
    return int(text_fingerprint(tool)[:_TOOL_DIGITS], 16)
