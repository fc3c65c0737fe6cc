"""APIs and frameworks whose recordings are a list of messages, or an object that holds one.

Each entry is a set of tests: which values may be its messages, which can be nothing else, and where
a message says what the model took.
"""

from typing import Any, Dict

from ...formats import (
    from_adk,
    from_anthropic,
    from_gemini,
    from_langchain,
    from_openai_chat,
    from_openai_responses,
    from_pydantic_ai,
    from_strands,
)
from ...formats._internal import (
    anthropic,
    field_of,
    gemini,
    items_of,
    langchain,
    openai_responses,
    pydantic_ai,
    strands,
    text_of,
)
from .._shared.conversation import ConversationFormat
from .._shared.usage import ReplyUsage, chat_usage, usage_in, usage_of

_INPUT, _OUTPUT = ("input_tokens",), ("output_tokens",)


def _has_role(message: Any) -> bool:
    return isinstance(message, dict) and isinstance(message.get("role"), str)


def _is_adk(event: Any) -> bool:
    return isinstance(event, dict) and "author" in event


def _is_sure_adk(event: Any) -> bool:
    return _is_adk(event) and ("invocationId" in event or "invocation_id" in event)


def _author(event: Any) -> str:
    author = text_of(field_of(event, "author"))
    return "" if author == "user" else author


def _is_sure_anthropic(message: Any) -> bool:
    blocks = anthropic.blocks_of(message) if _has_role(message) else []
    return any(anthropic.is_call(block) or anthropic.is_result(block) for block in blocks)


_CACHES = ("cache_creation_input_tokens", "cache_read_input_tokens")
anthropic_usage = usage_in("model", (*_INPUT, *_CACHES), _OUTPUT)
"""Reads what the API says of its reply; cached input counts as input."""


def _is_content(content: Any) -> bool:
    return isinstance(content, dict) and "parts" in content


def _is_sure_gemini(content: Any) -> bool:
    parts = gemini.parts_of(content) if isinstance(content, dict) else []
    return any(gemini.call_in(part) or gemini.response_in(part) is not None for part in parts)


def gemini_usage(reply: Any) -> ReplyUsage:
    """Read what the API says of its reply, in either case of its names."""
    model = field_of(reply, "modelVersion") or field_of(reply, "model_version")
    amounts = field_of(reply, "usageMetadata") or field_of(reply, "usage_metadata")
    read = ("promptTokenCount", "prompt_token_count")
    written = ("candidatesTokenCount", "candidates_token_count")
    return usage_of(model, amounts, read, (*written, "thoughtsTokenCount", "thoughts_token_count"))


def _is_langchain(message: Any) -> bool:
    return isinstance(message, dict) and bool(langchain.kind_of(message))


def _is_sure_langchain(message: Any) -> bool:
    is_known = isinstance(message, dict) and langchain.kind_of(message) in ("ai", "tool", "human")
    return is_known and "role" not in message and "content" in langchain.body_of(message)


def _langchain_usage(message: Any) -> ReplyUsage:
    body = langchain.body_of(message)
    metadata = field_of(body, "response_metadata")
    model = field_of(metadata, "model_name") or field_of(metadata, "model")
    return usage_of(model, field_of(body, "usage_metadata"), _INPUT, _OUTPUT)


def _is_foreign_to_chat(message: Any) -> bool:
    """Whether a message is one of another API, which tells who speaks in the same way."""
    if not isinstance(message, dict):
        return False
    if "parts" in message or text_of(message.get("type")).endswith(("_call", "_call_output")):
        return True
    return any(map(_is_foreign_part, items_of(message.get("content"))))


def _is_foreign_part(part: Any) -> bool:
    kind = text_of(part.get("type")) if isinstance(part, dict) else "text"
    return not kind or kind.endswith(("tool_use", "tool_result"))


def _is_item(item: Any) -> bool:
    is_known = isinstance(item, dict) and ("type" in item or "role" in item)
    return is_known or openai_responses.is_response(item)


def _is_sure_item(item: Any) -> bool:
    tests = (openai_responses.is_response, openai_responses.is_call, openai_responses.is_result)
    return isinstance(item, dict) and any(test(item) for test in tests)


def _is_pydantic_ai(message: Any) -> bool:
    parts = pydantic_ai.parts_of(message) if isinstance(message, dict) else []
    return any(isinstance(part, dict) and "part_kind" in part for part in parts)


# Releases before 1.0 count "request" and "response" tokens.
_READ, _WRITTEN = (*_INPUT, "request_tokens"), (*_OUTPUT, "response_tokens")


def _is_sure_converse(message: Any) -> bool:
    return isinstance(message, dict) and any(map(strands.holds_call, strands.blocks_of(message)))


def _converse_usage(message: Any) -> ReplyUsage:
    amounts = field_of(field_of(message, "metadata"), "usage")
    read = ("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
    return usage_of(field_of(message, "modelId"), amounts, read, ("outputTokens",))


CONVERSATIONS: Dict[str, ConversationFormat] = {
    "openai-chat": ConversationFormat(
        ("messages",),
        _has_role,
        _has_role,
        from_openai_chat,
        chat_usage,
        is_foreign=_is_foreign_to_chat,
    ),
    "anthropic": ConversationFormat(
        ("messages",), _has_role, _is_sure_anthropic, from_anthropic, anthropic_usage
    ),
    "openai-responses": ConversationFormat(
        ("items", "input", "output"),
        _is_item,
        _is_sure_item,
        from_openai_responses,
        usage_in("model", _INPUT, _OUTPUT),
        is_joined=True,  # a log of requests has the output of each beside its input
    ),
    "langchain": ConversationFormat(
        ("messages", "values", "channel_values"),
        _is_langchain,
        _is_sure_langchain,
        from_langchain,
        _langchain_usage,
    ),
    "gemini": ConversationFormat(
        ("contents", "clientHistory", "history"),
        _is_content,
        _is_sure_gemini,
        from_gemini,
        gemini_usage,
    ),
    "pydantic-ai": ConversationFormat(
        *(("messages",), _is_pydantic_ai, _is_pydantic_ai, from_pydantic_ai),
        usage_in("model_name", _READ, _WRITTEN),
    ),
    "adk": ConversationFormat(
        ("events",), _is_adk, _is_sure_adk, from_adk, gemini_usage, agent=_author
    ),
    "strands": ConversationFormat(
        ("messages",), _has_role, _is_sure_converse, from_strands, _converse_usage
    ),
}
"""By their names in ``FORMATS``."""


def mentions_tools(value: Any) -> bool:
    """Whether chat messages mention tools; without them they may be of another API."""
    return any(map(_mentions_tools, CONVERSATIONS["openai-chat"].messages_in(value) or ()))


def _mentions_tools(message: Any) -> bool:
    is_result = field_of(message, "role") in ("tool", "function")
    return is_result or any(field_of(message, key) for key in ("tool_calls", "function_call"))
