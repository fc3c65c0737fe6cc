"""LangChain conversations: dumped messages, or an agent's state that holds them."""

from typing import Any

from ...formats import from_langchain
from ...formats.content import field_of
from ...formats.messages.langchain import body_of, kind_of
from ..shared.conversation import ConversationFormat
from ..shared.usage import Usage, usage_of

_OWN_KINDS = ("ai", "tool", "human")


def _is_message(message: Any) -> bool:
    return isinstance(message, dict) and bool(kind_of(message))


def _is_own(message: Any) -> bool:
    is_known = isinstance(message, dict) and kind_of(message) in _OWN_KINDS
    return is_known and "role" not in message and "content" in body_of(message)


def _usage(message: Any) -> Usage:
    body = body_of(message)
    metadata = field_of(body, "response_metadata")
    model = field_of(metadata, "model_name") or field_of(metadata, "model")
    amounts = field_of(body, "usage_metadata")
    return usage_of(model, amounts, ("input_tokens",), ("output_tokens",))


_FORMAT = ConversationFormat(
    ("messages", "values", "channel_values"),
    _is_message,
    _is_own,
    from_langchain,
    "no LangChain messages here",
    _usage,
)
recognizes, read = _FORMAT.recognizes, _FORMAT.read
