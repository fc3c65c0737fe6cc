"""OpenAI Responses conversations: a list of items or of responses, or an object around one."""

from typing import Any

from ...formats import from_openai_responses
from ...formats.content import field_of
from ...formats.messages.openai_responses import is_call, is_response, is_result
from ..shared.conversation import ConversationFormat
from ..shared.usage import Usage, usage_of


def _is_message(item: Any) -> bool:
    return isinstance(item, dict) and (is_response(item) or "type" in item or "role" in item)


def _is_own(item: Any) -> bool:
    return isinstance(item, dict) and (is_response(item) or is_call(item) or is_result(item))


def _usage(response: Any) -> Usage:
    model, amounts = field_of(response, "model"), field_of(response, "usage")
    return usage_of(model, amounts, ("input_tokens",), ("output_tokens",))


_FORMAT = ConversationFormat(
    ("items", "input", "output"),
    _is_message,
    _is_own,
    from_openai_responses,
    "no items of OpenAI Responses here",
    _usage,
)
recognizes, read = _FORMAT.recognizes, _FORMAT.read
