"""Calls that hand another one on: a tool that calls tools is judged by the call that it gets."""

from typing import Any, Dict, Optional, Tuple

from ..._text.canonical import parsed_arguments
from .effect import LONGEST_NAME, name_parts

_HOLDERS = frozenset("arguments args input kwargs parameters params".split())
_NAMES = ("tool_name", "toolname", "tool")
_RELAYS = frozenset(("mcp", "tool", "tools"))
_MOST = 4  # arguments of a tool that calls tools; others may say whose tool it is


def relayed(tool: str, arguments: Any) -> Tuple[str, Any]:
    """Return the tool and the arguments that a call is about.

    Where the arguments name another tool and hold its arguments, these are returned, beside what
    else is said, such as the server: one tool of two servers is two tools. Arguments in an object
    inside, or in the JSON text of one, are returned without the object around them.

    >>> relayed("use_mcp_tool", {"server": "fs", "tool_name": "read", "arguments": '{"path": "a"}'})
    ('read', {'server': 'fs', 'path': 'a'})
    >>> relayed("bash", {"params": {"command": "ls"}})
    ('bash', {'command': 'ls'})
    >>> relayed("create_step", {"name": "build", "params": {"jobs": 4}})
    ('create_step', {'name': 'build', 'params': {'jobs': 4}})
    """
    if not isinstance(arguments, dict) or _HOLDERS.isdisjoint(map(str.lower, arguments)):
        return tool, arguments
    held = [each for each in arguments if each.lower() in _HOLDERS]
    if len(held) != 1 or len(arguments) > _MOST:
        return tool, arguments
    given = arguments[held[0]]
    if len(arguments) == 1:
        if isinstance(given, str) and given[:1] == "{":
            given = parsed_arguments(given)
        return tool, given if isinstance(given, dict) else arguments
    named = _name_in(tool, arguments)
    given = parsed_arguments(given) if named else None
    if named is None or not isinstance(given, dict):
        return tool, arguments
    others = {each: arguments[each] for each in arguments if each not in (named, *held)}
    if not others.keys().isdisjoint(given):
        return tool, arguments
    return arguments[named], {**others, **given}


def _name_in(tool: str, arguments: Dict[str, Any]) -> Optional[str]:
    """Return the argument that names the other tool; None where none does, or more than one."""
    keys = _NAMES if _RELAYS.isdisjoint(name_parts(tool)) else (*_NAMES, "name")
    named = [each for each in arguments if str(each).lower() in keys]
    name = arguments[named[0]] if len(named) == 1 else None
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
        return None
    return None if any(map(str.isspace, name)) else named[0]
