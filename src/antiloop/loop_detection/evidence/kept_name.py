"""Names of tools and ids of calls, as long as a run can keep many of them."""

import json
from functools import lru_cache
from typing import Any, Optional

from ..text.shortening import shortened
from .fingerprint import text_fingerprint

NAME_LENGTH = 128
"""Characters that a name or an id takes at most, written as JSON. APIs allow no longer names."""


def kept_name(name: str) -> str:
    """Return a name as it is, a very long one shortened so that it still differs from all others.

    >>> kept_name("search"), len(kept_name("s" * 1_000_000))
    ('search', 54)
    """
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
