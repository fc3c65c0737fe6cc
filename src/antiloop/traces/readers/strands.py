"""Strands and Converse conversations: a list of messages, or an object around one."""

from typing import Any

from ...formats import from_strands
from ...formats.content import field_of
from ...formats.messages.strands import blocks_of, holds_call
from ..shared.conversation import ConversationFormat
from ..shared.usage import Usage, usage_of

_READ = ("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")


def _is_message(message: Any) -> bool:
    return isinstance(message, dict) and isinstance(message.get("role"), str)


def _is_own(message: Any) -> bool:
    return isinstance(message, dict) and any(map(holds_call, blocks_of(message)))


def _usage(message: Any) -> Usage:
    model = field_of(message, "modelId")
    amounts = field_of(field_of(message, "metadata"), "usage")
    return usage_of(model, amounts, _READ, ("outputTokens",))


_FORMAT = ConversationFormat(
    ("messages",), _is_message, _is_own, from_strands, "no Converse messages here", _usage
)
recognizes, read = _FORMAT.recognizes, _FORMAT.read
