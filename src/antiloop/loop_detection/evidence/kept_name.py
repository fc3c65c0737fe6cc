"""Names of tools and ids of calls, as long as a run can keep many of them."""

import json
import re
from typing import Any, Optional

from ..text.shortening import shortened
from .fingerprint import text_fingerprint

NAME_LENGTH = 128
"""Characters that a name or an id takes at most, written as JSON. APIs allow no longer names."""

_is_short = re.compile(r"[\w.:/ -]{0,128}", re.ASCII).fullmatch


def kept_name(name: str) -> str:
    """Give a name as it is, a very long one shortened so that it still differs from all others.

    >>> kept_name("search"), len(kept_name("s" * 1_000_000))
    ('search', 54)
    """
    if _is_short(name) or _fits(name):
        return name
    begin = shortened(json.dumps(name[:40])[1:-1], 40)
    return f"{begin}...#{text_fingerprint(name)[:10]}"


def kept_id(call_id: Any) -> Optional[str]:
    """Give the id of a call, None where it is no text or very long: nobody can use a part of it."""
    is_text = type(call_id) is str
    return call_id if is_text and (_is_short(call_id) or _fits(call_id)) else None


def _fits(text: str) -> bool:
    return len(text) <= NAME_LENGTH and len(json.dumps(text)) - 2 <= NAME_LENGTH
