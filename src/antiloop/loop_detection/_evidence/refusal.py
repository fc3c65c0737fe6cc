"""The reach of a block: a call, all calls that are nearly the same, a tool, or everything.

Each is written as a key. A call is its fingerprint; the other keys begin with a letter that no
fingerprint begins with, so that no name of a tool can be taken for something else.
"""

from typing import Iterable, Tuple

from .call_features import CallFeatures
from .fingerprint import KEY_LENGTH, text_fingerprint

EVERY_TOOL = "*"
"""The key of every call there is."""


def tool_key(tool: str) -> str:
    """Return the key of all calls of a tool."""
    return f"t{text_fingerprint(tool)[:KEY_LENGTH]}"


def near_key(features: CallFeatures) -> str:
    """Return the key of all calls whose arguments differ in cosmetic things only."""
    return f"n{text_fingerprint(f'{features.tool}{chr(0)}{features.near}')[:KEY_LENGTH]}"


def whole_tool(features: CallFeatures) -> Tuple[str, ...]:
    """Return the key of a tool for a loop that its answers make, whatever the arguments.

    Empty for a shell and the like: it does all kinds of work, most of it healthy.
    """
    return () if features.is_command else (tool_key(features.tool),)


def is_refused(features: CallFeatures, keys: Iterable[str]) -> bool:
    """Whether one of the keys is that of this call."""
    return any(_fits(features, key) for key in keys)


def _fits(features: CallFeatures, key: str) -> bool:
    if key[:1] == "t":
        return key == tool_key(features.tool)
    if key[:1] == "n":
        return key == near_key(features)
    return key in (features.call, EVERY_TOOL)
