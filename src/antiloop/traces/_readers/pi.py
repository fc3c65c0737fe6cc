"""pi and OpenClaw: ``agents/*/sessions/*.jsonl``, one entry a line."""

from typing import Any, Iterator

from ..._amounts import number
from ...formats._internal import field_of, optional_text, tag_of, text_of, time_of
from .._shared.listed_run import Listed, ListedFormat, ListedRun
from .._shared.usage import usage_of

_ENTRIES = (
    *("session", "message", "model_change", "thinking_level_change", "compaction", "custom"),
    *("branch_summary", "custom_message", "label", "session_info"),
)
_ROLES = ("user", "assistant", "toolResult", "bashExecution", "custom")


def _is_message(value: Any) -> bool:
    if tag_of(value, "type") != "message" or "parentId" not in value:
        return False
    message = value.get("message")
    return tag_of(message, "role") in _ROLES and "sessionId" not in value


def _recognizes(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    is_begin = value.get("type") == "session" and "cwd" in value and "id" in value
    return is_begin or (_is_message(value) and _is_own(value["message"]))


def _is_own(message: Any) -> bool:
    """Whether a message can be of no other client that has the same entries."""
    role = tag_of(message, "role")
    return role == "toolResult" or (role == "assistant" and "api" in message)


def _listed(value: Any) -> Iterator[Listed]:
    if tag_of(value, "type") in _ENTRIES:
        is_begin = value["type"] == "session"
        yield optional_text(value.get("id")) if is_begin else None, "", value


def _take(run: ListedRun, entry: Any) -> None:
    if tag_of(entry, "type") in ("compaction", "branch_summary"):
        run.add_summary(text_of(field_of(entry, "summary")))
    if tag_of(entry, "type") != "message":
        return
    message, at = field_of(entry, "message"), time_of(entry)
    role, content = tag_of(message, "role"), field_of(message, "content")
    if role == "toolResult":
        failed = field_of(message, "isError") is True
        name = field_of(message, "toolName")
        run.result(content, field_of(message, "toolCallId"), failed=failed, at=at, name=name)
    elif role in ("user", "assistant"):
        usage = field_of(message, "usage")
        cost = number(field_of(field_of(usage, "cost"), "total"))
        read = ("input", "cacheRead", "cacheWrite")
        run.used(usage_of(field_of(message, "model"), usage, read, ("output",)), at, cost)
        run.message(role, content, at)


FORMAT = ListedFormat(_recognizes, _listed, _take)
