"""The protocol of model providers: what the core loop asks, and what it gets back.

A provider turns one :class:`ModelRequest` into one :class:`ModelReply`. It keeps nothing between
calls, so one provider can serve many runs at once.
"""

from dataclasses import dataclass, field
from typing import Any, AsyncIterator, Iterator, Mapping, Optional, Protocol, Tuple, Union

from ..._short_repr import Shown
from ..._text_enum import TextEnum
from ...stability import beta
from ...types import Message, ToolCall


@beta
@dataclass(frozen=True, repr=False)
class ToolSchema(Shown):
    """A tool as the model sees it."""

    name: str
    """The name that the model calls it by."""
    description: str
    """The use of the tool, in a sentence or two."""
    parameters: Mapping[str, Any] = field(hash=False)
    """JSON schema of the arguments, an object schema."""


@beta
@dataclass(frozen=True, repr=False)
class Usage(Shown):
    """Tokens spent; zero where the provider does not say."""

    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens + other.input_tokens, self.output_tokens + other.output_tokens
        )


@beta
@dataclass(frozen=True, repr=False)
class ModelRequest(Shown):
    """One question to the model."""

    messages: Tuple[Message, ...]
    """The conversation so far, oldest first. A system message may stand anywhere."""
    tools: Tuple[ToolSchema, ...] = ()
    """The tools that the model may call; empty for none."""
    response_schema: Optional[Mapping[str, Any]] = field(default=None, hash=False)
    """JSON schema that the final answer must meet, or None for free text."""
    may_call: bool = True
    """False: the model gets the tools, because the conversation speaks of them, and may not call
    them. Calls that come all the same do not run."""


@beta
class ReplyEnd(TextEnum):
    """The reason why a reply ended where it did."""

    COMPLETE = "complete"
    """The model had said all that it wanted to say."""
    LENGTH = "length"
    """A limit of tokens cut it off: the last call, or the text, is not whole."""
    BROKEN = "broken"
    """The stream ended without saying that the reply is complete; as for a limit."""
    WITHHELD = "withheld"
    """A content filter or the model itself broke it off: none of it should be acted on."""
    PAUSED = "paused"
    """The API wants the conversation, with this reply, sent again to go on."""

    @property
    def is_cut(self) -> bool:
        """Whether a part of the reply is missing."""
        return self in (ReplyEnd.LENGTH, ReplyEnd.BROKEN, ReplyEnd.WITHHELD)


@beta
@dataclass(frozen=True, repr=False)
class ModelReply(Shown):
    """One answer of the model: text, tool calls, or both."""

    text: str = ""
    tool_calls: Tuple[ToolCall, ...] = ()
    """In the order of the reply; arguments as a mapping, or as raw text if they are not one."""
    usage: Usage = Usage()
    end: ReplyEnd = ReplyEnd.COMPLETE
    end_detail: str = ""
    """For a reply that was cut: what cut it off, and what to do, for a person."""
    provider_data: Optional[Mapping[str, Any]] = field(default=None, compare=False, repr=False)
    """See `Message.provider_data`."""


@beta
@dataclass(frozen=True, repr=False)
class Thought(Shown):
    """A piece of what the model thinks before its reply, as a stream brings it.

    A `ChantDetector` may end a stream of thoughts that repeats itself without end. Thoughts are
    not events of a run, and nothing keeps or shows them.
    """

    text: str = field(repr=False)


StreamItem = Union[str, Thought, ModelReply]
"""A stream yields pieces of text, and of thoughts, as they arrive, and last the whole reply."""


@beta
class Provider(Protocol):
    """A model that the core loop can ask. All four methods give the same reply to one request."""

    def complete(self, request: ModelRequest) -> ModelReply:
        """Ask, and wait for the reply."""
        ...

    async def acomplete(self, request: ModelRequest) -> ModelReply:
        """Ask without blocking the event loop."""
        ...

    def stream(self, request: ModelRequest) -> Iterator[StreamItem]:
        """Ask, and yield text as it arrives; the last item is the whole reply."""
        ...

    def astream(self, request: ModelRequest) -> AsyncIterator[StreamItem]:
        """Like `stream`, without blocking the event loop."""
        ...


_ASKED_BY = {
    "complete": "Agent.run",
    "acomplete": "Agent.arun",
    "stream": "Agent.stream",
    "astream": "Agent.astream",
}


def checked_provider(provider: Any) -> Provider:
    """Return the provider; raises TypeError for what cannot be asked at all.

    A provider that is only used in one way needs the methods of that way only.
    """
    if isinstance(provider, type):
        raise TypeError(f"the provider is a class; pass an instance: {provider.__name__}(...)")
    if not any(_has(provider, name) for name in _ASKED_BY):
        raise TypeError(
            f"the provider must have the methods {', '.join(_ASKED_BY)}, or those of them that are"
            f" used; {provider!r} has none"
        )
    checked: Provider = provider
    return checked


def check_asked(provider: Provider, method: str) -> None:
    """Raise TypeError for a provider without the method that is going to be asked."""
    if not _has(provider, method):
        others = " or ".join(way for name, way in _ASKED_BY.items() if _has(provider, name))
        raise TypeError(
            f"the provider {provider!r} has no method {method}, which {_ASKED_BY[method]} asks;"
            f" write it, or use {others}"
        )


def _has(provider: Any, method: str) -> bool:
    return callable(getattr(provider, method, None))
