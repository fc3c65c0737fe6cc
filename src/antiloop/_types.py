"""The types that every part of the library shares: messages, tool calls and their results."""

from dataclasses import dataclass, field, fields
from typing import Any, Dict, Mapping, Optional, Protocol, Tuple, Union

from ._frozen import thawed
from ._short_repr import Shown, held, short_repr
from ._text_enum import TextEnum
from .stability import beta, stable


@stable
class Role(TextEnum):
    """The role of a message in a conversation."""

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
    arguments: Union[Mapping[str, Any], str, None] = field(default_factory=dict, hash=False)
    """Compared by value; the order of keys does not matter. JSON text and None are accepted."""
    id: Optional[str] = None
    """The provider's call id. It joins a call to its result and takes no part in detection."""
    round: Optional[int] = None
    """Number of the round, shared by the calls of one model reply; None is a separate round."""
    started_at: Optional[float] = field(default=None, compare=False)
    """The time of the call, in seconds since 1970. It takes no part in equality."""
    provider_data: Optional[Mapping[str, Any]] = field(default=None, compare=False, repr=False)
    """See `Message.provider_data`."""

    def __repr__(self) -> str:
        arguments = "<text>" if isinstance(self.arguments, str) else held(self.arguments)
        shown = ("arguments", arguments), ("id", held(self.id)), ("round", held(self.round))
        named = [f"{name}={text}" for name, text in shown if text not in ("None", "{}")]
        return short_repr(self, held(self.tool_name), *named)


@beta
@dataclass(frozen=True, repr=False)
class Image(Shown):
    """An image in a result or a message; tools may return one, or the bytes of one."""

    data: str = field(repr=False)
    """The bytes of the file as base64."""
    media_type: str = "image/png"
    """E.g. ``"image/png"``, ``"image/jpeg"``."""


@stable
@dataclass(frozen=True, repr=False)
class ToolResult(Shown):
    """The result of one tool call."""

    text: str
    """The result as the model reads it."""
    is_error: bool = False
    """Whether the tool, or the program that runs it, reports a failure."""
    duration_s: Optional[float] = field(default=None, compare=False)
    """The duration of the call in seconds. It takes no part in equality."""
    images: Tuple[Image, ...] = field(default=(), compare=False)
    """Images for models that see. Two results with different images need different texts: a tool
    that returns an image gets a text with its digest."""


@stable
@dataclass(frozen=True, repr=False)
class Message(Shown):
    """One entry of a conversation.

    >>> message = Message(Role.USER, "Hi")
    >>> Message.from_dict(message.to_dict()) == message
    True
    """

    role: Role
    """The role of the one who speaks."""
    content: str = ""
    """The text."""
    tool_calls: Tuple[ToolCall, ...] = ()
    """The calls that an assistant message asks for, in order."""
    tool_call_id: Optional[str] = None
    """For a tool message: the id of the call that it answers."""
    is_error: bool = False
    """For a tool message: whether the call failed."""
    images: Tuple[Image, ...] = ()
    """For a message of the user or a tool: images that belong to it."""
    provider_data: Optional[Mapping[str, Any]] = field(default=None, compare=False, repr=False)
    """Plain JSON that the model's API wants back unchanged with this message, such as signed
    reasoning. Its ``"provider"`` names the API; another one does not get it. It is opaque: never
    compared, and never shown."""

    def to_dict(self) -> Dict[str, Any]:
        """Return the message as plain JSON, to keep a conversation somewhere."""
        data = {**_listed(self), "role": self.role.value}
        if self.tool_calls:
            data["tool_calls"] = [_listed(call) for call in self.tool_calls]
        if self.images:
            data["images"] = [_listed(image) for image in self.images]
        return thawed(data)  # type: ignore[no-any-return]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Message":
        """Read what `to_dict` wrote.

        Raises:
            LookupError, TypeError, ValueError: if it is something else.
        """
        calls = tuple(ToolCall(**call) for call in data.get("tool_calls", ()))
        images = tuple(Image(**image) for image in data.get("images", ()))
        made = {"role": Role(data["role"]), "tool_calls": calls, "images": images}
        return cls(**{**data, **made})


@beta
class PartialResult(Protocol):
    """Hold what a run had achieved when an error ended it: an `AgentResult`, as far as errors know.

    Its messages can be given to `Agent.run`, to continue.
    """

    @property
    def run_id(self) -> str:
        """Id of the run."""
        ...

    @property
    def text(self) -> str:
        """The text of the model's last message."""
        ...

    @property
    def iterations(self) -> int:
        """Number of iterations, including the last one."""
        ...

    @property
    def messages(self) -> Tuple[Message, ...]:
        """The whole conversation."""
        ...

    @property
    def tool_calls(self) -> Tuple[ToolCall, ...]:
        """All calls, oldest first."""
        ...

    @property
    def tool_results(self) -> Tuple[ToolResult, ...]:
        """The results, in the order of the calls."""
        ...


def _listed(thing: Union[Message, ToolCall, Image]) -> Dict[str, Any]:
    """Return the fields that were set."""
    pairs = ((each, getattr(thing, each.name)) for each in fields(thing))
    return {each.name: value for each, value in pairs if value != each.default}
