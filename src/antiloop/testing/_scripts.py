"""Script the replies of a model: runs that loop.

>>> from antiloop.agent import Agent
>>> from antiloop.testing import ScriptedProvider
>>> def look(): return "nothing"
>>> provider = ScriptedProvider(repeating_script(ToolCall("look"), times=4))
>>> Agent([look], provider).run("Look around.").iterations
5
"""

from typing import List, Union

from ..agent import ScriptedProvider
from ..stability import beta
from ..types import ToolCall

__all__ = ["ScriptedProvider", "ToolCall", "ping_pong_script", "repeating_script", "stall_script"]

Script = List[Union[ToolCall, str]]


@beta
def repeating_script(call: ToolCall, times: int, final: str = "Done.") -> Script:
    """Return the replies of a model that makes one call over and over, and then answers."""
    return [call] * times + [final]


@beta
def ping_pong_script(first: ToolCall, second: ToolCall, times: int, final: str = "Done.") -> Script:
    """Return the replies of a model that alternates between two calls, and then answers."""
    return [first, second] * times + [final]


@beta
def stall_script(tool_name: str, argument: str, times: int, final: str = "Done.") -> Script:
    """Return the replies of a model that calls a tool with new values each time, and then answers.

    This is a stall if the result of the tool stays the same.
    """
    return [ToolCall(tool_name, {argument: f"{number}"}) for number in range(times)] + [final]
