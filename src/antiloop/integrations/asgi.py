"""Middleware for a gateway of one's own, of whatever ASGI framework."""

import json
import time
from itertools import chain, repeat
from secrets import token_hex
from typing import Any, Awaitable, Callable, Dict, List, Mapping, Optional, Tuple

from .._checks import check_kind, check_text
from .._text.canonical import json_or
from ..loop_detection import LoopAction, LoopDetector
from ..stability import stable
from ._request_answers import Answer
from ._thoughts import Thoughts, thought_in
from .gateway import GatewayGuard

__all__ = ["LoopGuard"]

_Scope = Dict[str, Any]
_Receive = Callable[[], Awaitable[Dict[str, Any]]]
_Send = Callable[[Dict[str, Any]], Awaitable[None]]

_PATHS = {
    "/chat/completions": "openai_chat",
    "/responses": "openai_responses",
    "/messages": "anthropic",
}
"""The APIs by how the paths of their requests end."""
_MAX_SIZE = 64 << 20
"""Bytes of the largest request that is judged."""

_LENGTHS = (b"content-length", b"transfer-encoding")  # no request may have both


@stable
class LoopGuard(GatewayGuard):
    """ASGI middleware in front of a gateway; see `Guard` for the other arguments.

    Other requests than those to an LLM API pass unread, and so does one that is compressed, not
    JSON, or larger than 64 MB.

    Args:
        app: the ASGI application that sends requests on.
        detector, options: those of `Guard`.
        paths: the APIs (``openai_chat``, ``openai_responses``, ``anthropic``) by how the paths of
            their requests end; by default those of the APIs.
        session_header: the header with the run's id for observers.
    """

    def __init__(
        self,
        app: Any,
        detector: Optional[LoopDetector] = None,
        *,
        paths: Optional[Mapping[str, str]] = None,
        session_header: str = "x-session-id",
        **options: Any,
    ) -> None:
        super().__init__(detector, **options)
        check_text("session_header", session_header)
        kinds = (Mapping, type(None))
        check_kind("paths must be a mapping", paths, kinds, "pass {path: kind}")
        self._app = app
        self._paths: Dict[str, str] = dict(_PATHS if paths is None else paths)
        self._session_header = session_header.lower().encode("latin-1")
        for kind in self._paths.values():
            self.judge_request({}, kind)  # names an API that is not known

    async def __call__(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        """Judge a request and hand it on, or answer it."""
        kind = self._kind(scope)
        if kind is None:
            await self._app(scope, receive, send)
            return
        messages, content = await _read(receive)
        body = json_or(content)
        if not isinstance(body, dict):
            await self._app(scope, _again(messages, receive), send)
            return
        run_id = _header(scope, self._session_header).decode("latin-1")
        judged = await self._judge_or_pass(body, kind, run_id)
        if judged.answer is not None:
            await _answer(judged.answer, send)
            return
        if content is not None and judged.body is not body:
            content = _written(judged.body, body, content)
            scope = _of_length(scope, len(content))
            messages = [{"type": "http.request", "body": content, "more_body": False}]
        if kind != "openai_chat":
            await self._app(scope, _again(messages, receive), send)
            return
        heard = _HeardStream(send, Thoughts(self, run_id))
        try:
            await self._app(scope, _again(messages, receive), heard.send)
        except Exception:  # which an application makes of the error that leaves it is its own
            if not heard.is_left:
                raise

    def _kind(self, scope: _Scope) -> Optional[str]:
        if scope["type"] != "http" or scope["method"] != "POST":
            return None
        if _header(scope, b"content-encoding") not in (b"", b"identity"):
            return None
        path = scope["path"].rstrip("/")
        return next((kind for end, kind in self._paths.items() if path.endswith(end)), None)


async def _read(receive: _Receive) -> Tuple[List[Dict[str, Any]], Optional[bytes]]:
    """Return the messages of a request, and its content; None if that is incomplete."""
    messages: List[Dict[str, Any]] = []
    size = 0
    while size <= _MAX_SIZE:
        message = await receive()
        messages.append(message)
        size += len(message.get("body", b""))
        if message["type"] != "http.request":  # the client has gone
            break
        if not message.get("more_body"):
            return messages, b"".join(each.get("body", b"") for each in messages)
    return messages, None


def _again(messages: List[Dict[str, Any]], receive: _Receive) -> _Receive:
    """Return a `receive` that yields the messages received already, and then the others."""
    waiting = iter(messages)

    async def received() -> Dict[str, Any]:
        message = next(waiting, None)
        return message if message is not None else await receive()

    return received


def _written(changed: Any, body: Dict[str, Any], content: bytes) -> bytes:
    """Write a changed request, with its numbers as they came: `json` makes 1e400 to Infinity."""
    mark = token_hex(16)
    marked = json.loads(content, parse_float=mark.__add__, parse_int=mark.__add__)
    text = json.dumps(_with_marked(changed, body, marked))
    first, *numbers = text.split(f'"{mark}')
    return "".join([first, *(each.replace('"', "", 1) for each in numbers)]).encode()


def _with_marked(changed: Any, before: Any, marked: Any) -> Any:
    """Return what was changed; in what was not, numbers are marked texts."""
    if changed is before:
        return marked
    if isinstance(changed, dict) and isinstance(before, dict):
        return {
            key: _with_marked(value, before.get(key), marked.get(key))
            for key, value in changed.items()
        }
    if isinstance(changed, list) and isinstance(before, list):
        none = repeat(None)
        return list(map(_with_marked, changed, chain(before, none), chain(marked, none)))
    return changed


def _header(scope: _Scope, name: bytes) -> bytes:
    return next((value for key, value in scope["headers"] if key.lower() == name), b"")


def _of_length(scope: _Scope, length: int) -> _Scope:
    others = [each for each in scope["headers"] if each[0].lower() not in _LENGTHS]
    return {**scope, "headers": [*others, (b"content-length", str(length).encode())]}


async def _answer(answer: Answer, send: _Send) -> None:
    content = answer.content(int(time.time()))
    headers = [
        (b"content-type", answer.content_type.encode()),
        (b"content-length", str(len(content)).encode()),
    ]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


_HEAD = ("id", "object", "created", "model")


class _HeardStream:
    """Passes on what an application sends, to the end or to a verdict on the model's thoughts.

    A stream that is left ends as one that has reached the limit of its length. An
    application that sends more gets an `OSError`, as if the client had gone, and so leaves the
    model.
    """

    def __init__(
        self, send: Callable[[Dict[str, Any]], Awaitable[None]], thoughts: Thoughts
    ) -> None:
        self.is_left = False
        self._send, self._thoughts = send, thoughts
        self._has_events = False
        self._half: List[bytes] = []  # a line that has begun: an image makes a long one

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
        end, *others = part.split(b"\n")
        self._half.append(end)
        if not others:
            return b""
        lines = [b"".join(self._half), *others]
        self._half = [lines.pop()]
        for line in lines:
            name, _, data = line.partition(b":")
            chunk = json_or(data) if name == b"data" else None  # the last one, [DONE], is not JSON
            if self._thoughts.hear(thought_in(chunk)).action is not LoopAction.CONTINUE:
                return part[: part.rfind(b"\n") + 1] + _end_after(chunk)
        return b""


def _is_event_stream(message: Dict[str, Any]) -> bool:
    headers = {key.lower(): value.lower() for key, value in message.get("headers", ())}
    is_plain = headers.get(b"content-encoding", b"identity") == b"identity"
    return is_plain and headers.get(b"content-type", b"").startswith(b"text/event-stream")


def _end_after(chunk: Any) -> bytes:
    head = {name: chunk[name] for name in _HEAD if name in chunk}
    choice = {"index": 0, "delta": {}, "finish_reason": "length"}
    # The event before may lack the empty line at its end; one too many does no harm.
    return f"\ndata: {json.dumps({**head, 'choices': [choice]})}\n\ndata: [DONE]\n\n".encode()
