"""A framework's own message, where the output of a tool should stand."""

import json
from typing import Any, Mapping, Optional

from .._content import field_of


def tool_message_in(value: Any) -> Optional[Mapping[str, Any]]:
    """Find a framework's own message in a tool's output; its id differs with every call."""
    try:
        outer = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return None
    for message in (outer, *(field_of(outer, name) for name in ("output", "kwargs", "data"))):
        if isinstance(message, dict) and {"content", "tool_call_id"} <= message.keys():
            return message
    return None
