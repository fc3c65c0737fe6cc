"""Anthropic conversations: a list of messages, or a request that holds one as ``messages``."""

from typing import Any

from ...formats import from_anthropic
from ...formats.content import field_of
from ...formats.messages.anthropic import blocks_of, is_call, is_result
from ..shared.conversation import ConversationFormat
from ..shared.usage import Usage, usage_of

_READ = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def anthropic_usage(message: Any) -> Usage:
    """Read what the API says of its reply; cached input counts as input."""
    model, amounts = field_of(message, "model"), field_of(message, "usage")
    return usage_of(model, amounts, _READ, ("output_tokens",))


def _is_message(message: Any) -> bool:
    return isinstance(message, dict) and isinstance(message.get("role"), str)


def _is_own(message: Any) -> bool:
    blocks = blocks_of(message) if _is_message(message) else []
    return any(is_call(block) or is_result(block) for block in blocks)


_FORMAT = ConversationFormat(
    ("messages",),
    _is_message,
    _is_own,
    from_anthropic,
    "no Anthropic messages here",
    anthropic_usage,
)
recognizes, read = _FORMAT.recognizes, _FORMAT.read
