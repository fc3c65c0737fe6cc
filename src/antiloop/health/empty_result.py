"""Whether a tool gave nothing: no text, fields without content, or words that say so."""

import json
import re
from typing import Any

from ..loop_detection.evidence.compared import Result
from ..types import ToolResult

_LONGEST_WORDS = 200
"""Characters of an answer that says that there is nothing; a longer one says more than that."""
_DEEPEST = 100
"""Levels of fields within fields that are looked into; what lies deeper counts as something."""
_THINGS = (
    r"(?:data|documents?|results?|match(?:es)?|files?|entries|records?|rows?|items?|hits?|content"
    r"|information|answers?|output)"
)
_WORDS = re.compile(
    r"\W*(?:404\W{1,5})?(?:not found|nothing(?: was)? found"
    rf"|(?:there (?:is|are|was|were) )?(?:no|0|zero) (?:\w+ ){{0,2}}{_THINGS}"
    r"(?: (?:was|were|is|are))?(?: (?:available|found|returned|exists?))?)\W*$",
    re.IGNORECASE,
)


def is_empty_result(result: Result) -> bool:
    """Whether a result holds nothing; one that is not known is not empty.

    >>> is_empty_result('{"data": {"items": []}}'), is_empty_result("No data available")
    (True, True)
    >>> is_empty_result('{"found": 1, "items": []}')
    False
    """
    text = result.text if isinstance(result, ToolResult) else result
    if not isinstance(text, str):
        return False
    text = text.strip()
    return _says_nothing(text) or (text[:1] == "{" and text[-1:] == "}" and _is_hollow(text))


def _says_nothing(text: str) -> bool:
    return len(text) <= _LONGEST_WORDS and (not text or _WORDS.match(text) is not None)


def _is_hollow(text: str) -> bool:
    try:
        return _holds_nothing(json.loads(text))
    except (ValueError, RecursionError):
        return False


def _holds_nothing(value: Any, levels: int = _DEEPEST) -> bool:
    """Whether each field of an object, at any depth, is empty, null, 0 or says that it is."""
    if isinstance(value, dict):
        return levels > 0 and all(_holds_nothing(field, levels - 1) for field in value.values())
    if isinstance(value, str):
        return _says_nothing(value.strip())
    if isinstance(value, bool):
        return False
    return value is None or value == [] or value == 0
