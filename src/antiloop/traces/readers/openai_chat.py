"""OpenAI chat conversations: a list of messages, or an object that holds one as ``messages``."""

from typing import Any

from ...formats import from_openai_chat
from ...formats.content import field_of, text_of
from ..shared.conversation import ConversationFormat
from ..shared.usage import Usage, usage_of
from . import inspect_ai, mini_swe_agent

_FOREIGN_TYPES = ("_call", "_call_output")


def _is_message(message: Any) -> bool:
    return isinstance(message, dict) and isinstance(message.get("role"), str)


def _is_foreign(message: Any) -> bool:
    """Whether a message is one of another API, which tells who speaks in the same way."""
    if not isinstance(message, dict):
        return False
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    if "parts" in message or text_of(message.get("type")).endswith(_FOREIGN_TYPES):
        return True
    return any(map(_is_foreign_part, parts))


def _is_foreign_part(part: Any) -> bool:
    kind = text_of(part.get("type")) if isinstance(part, dict) else "text"
    return not kind or kind.endswith(("tool_use", "tool_result"))


def _usage(reply: Any) -> Usage:
    model, amounts = field_of(reply, "model"), field_of(reply, "usage")
    return usage_of(model, amounts, ("prompt_tokens",), ("completion_tokens",))


_FORMAT = ConversationFormat(
    ("messages",),
    _is_message,
    _is_message,
    from_openai_chat,
    "no OpenAI chat messages here",
    _usage,
    is_foreign=_is_foreign,
)
read = _FORMAT.read


def recognizes(value: Any) -> bool:
    """Whether a JSON value is a conversation whose calls stand where this API has them."""
    others = (mini_swe_agent, inspect_ai)
    return _FORMAT.recognizes(value) and not any(other.recognizes(value) for other in others)


def is_sure(value: Any) -> bool:
    """Whether a conversation mentions tools; without them it may be one of another API."""
    return any(map(_mentions_tools, _FORMAT.messages_in(value) or ()))


def _mentions_tools(message: Any) -> bool:
    is_result = field_of(message, "role") in ("tool", "function")
    return is_result or any(field_of(message, key) for key in ("tool_calls", "function_call"))
