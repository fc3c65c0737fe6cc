"""Gemini conversations: a list of contents, or a request or checkpoint that holds one."""

from typing import Any

from ...formats import from_gemini
from ...formats.content import field_of
from ...formats.messages.gemini import call_in, parts_of, response_in
from ..shared.conversation import ConversationFormat
from ..shared.usage import Usage, usage_of


def holds_call(content: Any) -> bool:
    """Whether a JSON value is a content with a call of a tool, or with a result."""
    parts = parts_of(content) if isinstance(content, dict) else []
    return any(call_in(part) is not None or response_in(part) is not None for part in parts)


def gemini_usage(reply: Any) -> Usage:
    """Read what the API says of its reply, in either case of its names."""
    model = field_of(reply, "modelVersion") or field_of(reply, "model_version")
    amounts = field_of(reply, "usageMetadata") or field_of(reply, "usage_metadata")
    read = ("promptTokenCount", "prompt_token_count")
    written = ("candidatesTokenCount", "candidates_token_count")
    return usage_of(model, amounts, read, (*written, "thoughtsTokenCount", "thoughts_token_count"))


def _is_message(content: Any) -> bool:
    return isinstance(content, dict) and "parts" in content


_FORMAT = ConversationFormat(
    ("contents", "clientHistory", "history"),
    _is_message,
    holds_call,
    from_gemini,
    "no Gemini contents here",
    gemini_usage,
)
recognizes, read = _FORMAT.recognizes, _FORMAT.read
