"""A framework's own message, where the output of a tool should stand."""

from typing import Any, Mapping, Optional

from .._content import field_of, parsed


def tool_message_in(value: Any) -> Optional[Mapping[str, Any]]:
    """Find a framework's own message in a tool's output; its id differs with every call."""
    outer = parsed(value)
    for message in (outer, *(field_of(outer, name) for name in ("output", "kwargs", "data"))):
        if isinstance(message, dict) and {"content", "tool_call_id"} <= message.keys():
            return message
    return None
