"""Answers in the form of an LLM API, whole and as server-sent events."""

import json
from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Mapping, Tuple

from ..stability import beta

ServerEvent = Tuple[str, Mapping[str, Any]]
"""The name of a server-sent event, empty where the API gives it none, and its data."""


@beta
@dataclass(frozen=True)
class Answer:
    """An answer that a client receives instead of the model's."""

    kind: str
    """The API: ``openai_chat``, ``openai_responses`` or ``anthropic``."""
    text: str
    """The words of the answer."""
    key: str
    """Identifies this answer; ids are made of it."""
    model: str = ""
    """The model that the client has asked."""
    streamed: bool = False
    """Whether the client has asked for a stream. An error is never streamed."""
    with_usage: bool = False
    """Whether a stream of chat completions ends with a count of tokens."""
    status: int = 200
    """The HTTP status: 200, or 400 for an error."""

    @property
    def content_type(self) -> str:
        """The media type of `content`."""
        return "text/event-stream" if self._has_events else "application/json"

    def content(self, now: int) -> bytes:
        """Return the body of the HTTP response.

        Args:
            now: when it is answered, in seconds since 1970.
        """
        if not self._has_events:
            return json.dumps(self.body(now)).encode()
        return "".join(_as_text(*event) for event in self.events(now)).encode()

    def body(self, now: int) -> Dict[str, Any]:
        """Return the answer as JSON."""
        if self.status != 200:
            return _ERRORS[self.kind](self)
        return _BODIES[self.kind](self, now)

    def events(self, now: int) -> Iterable[ServerEvent]:
        """Return the answer as the events of a stream."""
        return _EVENTS[self.kind](self, now)

    @property
    def _has_events(self) -> bool:
        return self.streamed and self.status == 200


def _as_text(name: str, data: Mapping[str, Any]) -> str:
    named = f"event: {name}\n" if name else ""
    return f"{named}data: {json.dumps(data) if data else '[DONE]'}\n\n"


def _chat(answer: Answer, now: int) -> Dict[str, Any]:
    message = {"role": "assistant", "content": answer.text, "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    return {**_chat_head(answer, now, ""), "choices": [choice], "usage": _CHAT_USAGE}


def _chat_head(answer: Answer, now: int, suffix: str) -> Dict[str, Any]:
    return {
        "id": f"chatcmpl-{answer.key}",
        "object": f"chat.completion{suffix}",
        "created": now,
        "model": answer.model,
    }


def _chat_events(answer: Answer, now: int) -> Iterable[ServerEvent]:
    head = _chat_head(answer, now, ".chunk")
    said = {"role": "assistant", "content": answer.text}
    for delta, reason in ((said, None), ({}, "stop")):
        yield "", {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
    if answer.with_usage:
        yield "", {**head, "choices": [], "usage": _CHAT_USAGE}
    yield "", {}


def _response(answer: Answer, now: int) -> Dict[str, Any]:
    return {
        **_response_head(answer, now, "completed"),
        "output": [_item(answer, "completed", [_part(answer.text)])],
        "usage": _RESPONSES_USAGE,
    }


def _response_head(answer: Answer, now: int, status: str) -> Dict[str, Any]:
    return {
        "id": f"resp_{answer.key}",
        "object": "response",
        "created_at": now,
        "status": status,
        "model": answer.model,
        "output": [],
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "temperature": None,
        "top_p": None,
        "tool_choice": "none",
        "tools": [],
    }


def _item(answer: Answer, status: str, content: List[Any]) -> Dict[str, Any]:
    named = {"id": f"msg_{answer.key}", "type": "message", "role": "assistant"}
    return {**named, "status": status, "content": content}


def _part(text: str) -> Dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": []}


def _response_events(answer: Answer, now: int) -> Iterable[ServerEvent]:
    for number, (name, data) in enumerate(_unnumbered(answer, now)):
        kind = f"response.{name}"
        yield kind, {"type": kind, "sequence_number": number, **data}


def _unnumbered(answer: Answer, now: int) -> Iterable[ServerEvent]:
    begun = {"response": _response_head(answer, now, "in_progress")}
    place = {"item_id": f"msg_{answer.key}", "output_index": 0, "content_index": 0}
    whole = _part(answer.text)
    yield "created", begun
    yield "in_progress", begun
    yield "output_item.added", {"output_index": 0, "item": _item(answer, "in_progress", [])}
    yield "content_part.added", {**place, "part": _part("")}
    yield "output_text.delta", {**place, "delta": answer.text, "logprobs": []}
    yield "output_text.done", {**place, "text": answer.text, "logprobs": []}
    yield "content_part.done", {**place, "part": whole}
    yield "output_item.done", {"output_index": 0, "item": _item(answer, "completed", [whole])}
    yield "completed", {"response": _response(answer, now)}


def _message(answer: Answer, _now: int) -> Dict[str, Any]:
    content = [{"type": "text", "text": answer.text}]
    return {**_message_head(answer), "content": content, "stop_reason": "end_turn"}


def _message_head(answer: Answer) -> Dict[str, Any]:
    return {
        "id": f"msg_{answer.key}",
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }


def _message_events(answer: Answer, _now: int) -> Iterable[ServerEvent]:
    ended = {"stop_reason": "end_turn", "stop_sequence": None}
    said = {"type": "text_delta", "text": answer.text}
    events: List[ServerEvent] = [
        ("message_start", {"message": _message_head(answer)}),
        ("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}),
        ("content_block_delta", {"index": 0, "delta": said}),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": ended, "usage": {"output_tokens": 0}}),
        ("message_stop", {}),
    ]
    return [(name, {"type": name, **data}) for name, data in events]


def _openai_error(answer: Answer) -> Dict[str, Any]:
    named = {"type": "invalid_request_error", "param": None, "code": "loop_detected"}
    return {"error": {"message": answer.text, **named}}


def _anthropic_error(answer: Answer) -> Dict[str, Any]:
    named = {"type": "invalid_request_error", "message": answer.text}
    return {"type": "error", "error": named}


_CHAT_USAGE = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
_RESPONSES_USAGE = {
    "input_tokens": 0,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 0,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 0,
}
_BODIES = {"openai_chat": _chat, "openai_responses": _response, "anthropic": _message}
_EVENTS = {
    "openai_chat": _chat_events,
    "openai_responses": _response_events,
    "anthropic": _message_events,
}
_ERRORS = {
    "openai_chat": _openai_error,
    "openai_responses": _openai_error,
    "anthropic": _anthropic_error,
}
