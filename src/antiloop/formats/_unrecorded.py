"""Placeholders for a call, or its arguments, that a recording lacks."""

from dataclasses import replace

from ..types import ToolCall

_NOT_RECORDED = "not recorded"


def unlike_others(call: ToolCall, place: str) -> ToolCall:
    """Return a call without known arguments with unique ones.

    It then equals no other call. If the tool is unknown too, it also gets a unique name.

    Args:
        call: what is known of it.
        place: what tells it from all others of its run, such as ``call c1``.

    >>> unique = unlike_others(ToolCall("", id="c1"), "call c1")
    >>> unique.tool_name, unique.arguments
    ('(not recorded, call c1)', {'call c1': 'not recorded'})
    """
    name = call.tool_name or f"(not recorded, {place})"
    # The place is a key, as in values what looks like a random id is taken for noise.
    return replace(call, tool_name=name, arguments={place: _NOT_RECORDED})


def made_unique(call: ToolCall, step: int) -> ToolCall:
    """Return a call as it is, unless neither its tool nor its arguments are known.

    >>> made_unique(ToolCall("ls", None), 7).arguments, made_unique(ToolCall("", None), 7).arguments
    (None, {'step 7': 'not recorded'})
    """
    is_known = call.tool_name or call.arguments is not None
    return call if is_known else unlike_others(call, f"step {step}")
