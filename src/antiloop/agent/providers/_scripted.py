"""A provider that replies by script: no key, no network, the same every time."""

import re
from typing import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence, Union

from ..._checks import check_flag
from ..._short_repr import counted, short_repr
from ...exceptions import ProviderError
from ...stability import stable
from ...types import Role, ToolCall
from ._protocol import ModelReply, ModelRequest, StreamItem

ReplyLine = Union[ModelReply, str, ToolCall, Sequence[ToolCall]]
"""A reply: in full, a final text, one call, or calls to be run together."""
ScriptLine = Union[ReplyLine, Callable[[ModelRequest], ReplyLine]]
"""A reply, or a function of the request that gives one."""

_WORDS = re.compile(r"\s*\S+\s*|\s+")


@stable
class ScriptedProvider:
    """Reply with the lines of a script, one after the other.

    The number of replies in the conversation decides which line is next. So the provider keeps no
    state, serves many runs at once, and continues a resumed run correctly.

    Args:
        replies: a `ModelReply`, a text, a `ToolCall`, several of them for one reply, or a function
            of the request that returns one of these.
        repeat_last: give the last reply again and again when the script is over.

    Raises:
        ValueError: for an empty script.
        TypeError: for a script that is not a list, or if `repeat_last` is not True or False.

    >>> ScriptedProvider(["Hello!"]).complete(ModelRequest(())).text
    'Hello!'
    """

    def __init__(self, replies: Iterable[ScriptLine], *, repeat_last: bool = False) -> None:
        if isinstance(replies, str):
            raise TypeError(f"replies must be a list of replies, got the text {replies!r}")
        if isinstance(replies, Mapping) or not hasattr(replies, "__iter__"):
            raise TypeError(f"replies must be a list of replies, got {replies!r}")
        check_flag("repeat_last", repeat_last)
        self._lines = tuple(replies)
        self._repeat_last = repeat_last
        if not self._lines:
            raise ValueError("replies must hold at least one reply, got none")

    def __repr__(self) -> str:
        more = ["repeat_last=True"] if self._repeat_last else []
        return short_repr(self, counted(len(self._lines), "line"), *more)

    def complete(self, request: ModelRequest) -> ModelReply:
        """Return the next reply.

        Raises:
            ProviderError: if the script is over, or one of its lines is not a reply.
        """
        turn = sum(message.role is Role.ASSISTANT for message in request.messages)
        if turn >= len(self._lines) and not self._repeat_last:
            raise ProviderError(
                f"the script has {len(self._lines)} replies and was asked for number {turn + 1}; "
                "add one, or pass repeat_last=True"
            )
        line = self._lines[min(turn, len(self._lines) - 1)]
        return _reply(line(request) if callable(line) else line)

    async def acomplete(self, request: ModelRequest) -> ModelReply:
        """Return the next reply."""
        return self.complete(request)

    def stream(self, request: ModelRequest) -> Iterator[StreamItem]:
        """Yield the next reply's text word by word, then the reply."""
        reply = self.complete(request)
        yield from _WORDS.findall(reply.text or "")
        yield reply

    async def astream(self, request: ModelRequest) -> AsyncIterator[StreamItem]:
        """Yield the next reply's text word by word, then the reply."""
        for item in self.stream(request):
            yield item


def _reply(line: ReplyLine) -> ModelReply:
    if isinstance(line, ModelReply):
        return line
    if isinstance(line, str):
        return ModelReply(line)
    calls = [line] if isinstance(line, ToolCall) else line
    if isinstance(calls, (list, tuple)) and all(isinstance(call, ToolCall) for call in calls):
        return ModelReply(tool_calls=tuple(calls))
    raise ProviderError(f"a script line must be a reply, a text or tool calls, got {line!r}")
