"""The types that every part of the library shares: messages, tool calls and their results."""

from dataclasses import dataclass, field
from typing import Any, Dict, Mapping, Optional, Tuple, Union

from .short_repr import held, repr_of_fields, short_repr
from .stability import stable
from .text_enum import TextEnum


@stable
class Role(TextEnum):
    """Who speaks in a conversation."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@stable
@dataclass(frozen=True)
class ToolCall:
    """One call of a tool, as the model requested it."""

    tool_name: str
    """Name of the tool."""
    arguments: Union[Mapping[str, Any], str, None] = field(default_factory=dict)
    """Compared by value; the order of keys does not matter. JSON text and None are accepted."""
    id: Optional[str] = None
    """The provider's call id. It joins a call to its result and takes no part in detection."""
    round: Optional[int] = None
    """Number of the round, shared by the calls of one model reply; None is a separate round."""

    def __repr__(self) -> str:
        arguments = "<text>" if isinstance(self.arguments, str) else held(self.arguments)
        known = (self.id, "id", held(self.id)), (self.round, "round", held(self.round))
        shown = ((self.arguments or None, "arguments", arguments), *known)
        named = [f"{name}={text}" for value, name, text in shown if value is not None]
        return short_repr(self, held(self.tool_name), *named)

    def __getstate__(self) -> Dict[str, Any]:
        # What detection remembers beside the fields stays in this process.
        return {name: value for name, value in self.__dict__.items() if name[0] != "_"}


@stable
@dataclass(frozen=True)
class ToolResult:
    """The result of one tool call."""

    text: str
    """The result as the model reads it."""
    is_error: bool = False
    """Whether the tool, or the program that runs it, reports a failure."""

    __repr__ = repr_of_fields


@stable
@dataclass(frozen=True)
class Message:
    """One entry of a conversation."""

    role: Role
    """Who speaks."""
    content: str = ""
    """The text."""
    tool_calls: Tuple[ToolCall, ...] = ()
    """What an assistant message asks for, in order."""
    tool_call_id: Optional[str] = None
    """For a tool message: the id of the call that it answers."""
    is_error: bool = False
    """For a tool message: whether the call failed."""

    __repr__ = repr_of_fields
