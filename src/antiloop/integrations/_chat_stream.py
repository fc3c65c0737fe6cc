"""A chat completion that is streamed through ASGI: it ends where the model thinks in circles."""

import json
from typing import Any, Awaitable, Callable, Dict

from ..formats._internal import field_of, items_of, text_of
from ..loop_detection import LoopAction
from ._thoughts import Thoughts

_HEAD = ("id", "object", "created", "model")
_THOUGHT = ("reasoning_content", "reasoning")
"""Fields of a delta that hold a piece of a thought; each server has one of them."""


class HeardStream:
    """Passes on what an application sends, to the end or to a verdict on the model's thoughts.

    A stream that is left ends as one that has reached the limit of its length. An
    application that sends more gets an `OSError`, as if the client had gone, and so leaves the
    model.

    Args:
        send: the server's.
        thoughts: judges what the model thinks.
    """

    def __init__(
        self, send: Callable[[Dict[str, Any]], Awaitable[None]], thoughts: Thoughts
    ) -> None:
        self.is_left = False
        self._send, self._thoughts = send, thoughts
        self._has_events = False
        self._rest = b""

    async def send(self, message: Dict[str, Any]) -> None:
        """Pass on a message of the application."""
        if self.is_left:
            raise OSError("the stream was left, as its model thinks in circles")
        if message["type"] == "http.response.start":
            self._has_events = _is_event_stream(message)
        elif self._has_events:
            end = self._end_in(message.get("body", b""))
            self.is_left = bool(end)
            if end:
                message = {**message, "body": end, "more_body": False}
        await self._send(message)

    def _end_in(self, part: bytes) -> bytes:
        """Return what ends the stream in place of a part of it; empty to go on."""
        *lines, self._rest = (self._rest + part).split(b"\n")
        for line in lines:
            chunk = _chunk_in(line)
            if self._thoughts.hear(_thought_in(chunk)).action is not LoopAction.CONTINUE:
                return part[: part.rfind(b"\n") + 1] + _end_after(chunk)
        return b""


def _is_event_stream(message: Dict[str, Any]) -> bool:
    headers = {key.lower(): value.lower() for key, value in message.get("headers", ())}
    is_plain = headers.get(b"content-encoding", b"identity") == b"identity"
    return is_plain and headers.get(b"content-type", b"").startswith(b"text/event-stream")


def _chunk_in(line: bytes) -> Any:
    """Return the data in a line of an event stream; None if it has none."""
    name, _, data = line.partition(b":")
    try:
        return json.loads(data) if name == b"data" else None
    except (ValueError, RecursionError):  # the last one, [DONE], is not JSON
        return None


def _thought_in(chunk: Any) -> str:
    deltas = [field_of(each, "delta") for each in items_of(field_of(chunk, "choices"))[:1]]
    pieces = (text_of(field_of(each, name)) for each in deltas for name in _THOUGHT)
    return next(filter(None, pieces), "")


def _end_after(chunk: Any) -> bytes:
    head = {name: chunk[name] for name in _HEAD if name in chunk}
    choice = {"index": 0, "delta": {}, "finish_reason": "length"}
    # The event before may lack the empty line at its end; one too many does no harm.
    return f"\ndata: {json.dumps({**head, 'choices': [choice]})}\n\ndata: [DONE]\n\n".encode()
