"""What stands in the place of a call, or of its arguments, where a recording lacks them."""

from dataclasses import replace

from ..types import ToolCall


def unlike_others(call: ToolCall, place: str) -> ToolCall:
    """Give a call of which nobody knows what was asked arguments that no other call has.

    So it is held equal to none. Where not even the tool is known, it gets a name of its own too.

    Args:
        call: what is known of it.
        place: what tells it from all others of its run, such as ``call c1``.

    >>> stand_in = unlike_others(ToolCall("", id="c1"), "call c1")
    >>> stand_in.tool_name, stand_in.arguments
    ('(not recorded, call c1)', {'call c1': 'not recorded'})
    """
    name = call.tool_name or f"(not recorded, {place})"
    # The place is a key, as in values what looks like a random id is taken for noise.
    return replace(call, tool_name=name, arguments={place: "not recorded"})


def told_apart(call: ToolCall, step: int) -> ToolCall:
    """Give a call as it is, unless neither its tool nor its arguments are known.

    >>> told_apart(ToolCall("ls", None), 7).arguments, told_apart(ToolCall("", None), 7).arguments
    (None, {'step 7': 'not recorded'})
    """
    is_known = call.tool_name or call.arguments is not None
    return call if is_known else unlike_others(call, f"step {step}")
