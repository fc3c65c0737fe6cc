"""Pydantic AI runs: a dumped list of messages, or an object that holds one as ``messages``."""

from typing import Any

from ...formats import from_pydantic_ai
from ...formats.content import field_of
from ...formats.messages.pydantic_ai import parts_of
from ..shared.conversation import ConversationFormat
from ..shared.usage import Usage, usage_of


def _is_message(message: Any) -> bool:
    parts = parts_of(message) if isinstance(message, dict) else []
    return any(isinstance(part, dict) and "part_kind" in part for part in parts)


def _usage(message: Any) -> Usage:
    # Releases before 1.0 count "request" and "response" tokens.
    read, written = ("input_tokens", "request_tokens"), ("output_tokens", "response_tokens")
    return usage_of(field_of(message, "model_name"), field_of(message, "usage"), read, written)


_FORMAT = ConversationFormat(
    ("messages",),
    _is_message,
    _is_message,
    from_pydantic_ai,
    "no Pydantic AI messages here",
    _usage,
)
recognizes, read = _FORMAT.recognizes, _FORMAT.read
