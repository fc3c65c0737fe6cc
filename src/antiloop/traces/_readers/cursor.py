"""Cursor: its agent's transcripts, and what ``cursor-agent --output-format stream-json`` prints."""

from typing import Any, Iterator, Tuple

from ..._amounts import moment_s
from ...formats._internal import field_of, optional_text, tag_of, texts_in
from .._shared.listed_run import Listed, ListedFormat, ListedRun, elements_in


def _is_line(value: Any) -> bool:
    """Whether it is a line of a transcript: who speaks, beside the message itself."""
    return (
        isinstance(value, dict)
        and value.get("role") in ("user", "assistant")
        and isinstance(value.get("message"), dict)
        and isinstance(value["message"].get("content"), (list, str))
    )


def _is_tool_event(value: Any) -> bool:
    return tag_of(value, "type") == "tool_call" and isinstance(field_of(value, "tool_call"), dict)


def _is_begin(value: Any) -> bool:
    is_init = tag_of(value, "type") == "system" and tag_of(value, "subtype") == "init"
    # Claude Code begins so, too, and names its tools there.
    return is_init and "apiKeySource" in value and "tools" not in value


def _recognizes(value: Any) -> bool:
    return isinstance(value, dict) and (
        _is_line(value) or _is_tool_event(value) or _is_begin(value)
    )


def _listed(value: Any) -> Iterator[Listed]:
    if isinstance(value, dict) and isinstance(value.get("type", value.get("role")), str):
        yield optional_text(value.get("session_id")), "", value


def _take(run: ListedRun, line: Any) -> None:
    at = moment_s(field_of(line, "timestamp_ms"))
    if _is_tool_event(line):
        _take_tool(run, line, at)
    elif tag_of(line, "type") == "thinking":
        run.add_thoughts(*texts_in([field_of(line, "text")]))
    elif tag_of(line, "type") in ("user", "assistant", ""):
        role = tag_of(line, "role") or tag_of(line, "type")
        content = field_of(field_of(line, "message"), "content")
        run.message(role, _asked(content) if role == "user" else content, at)
    elif tag_of(line, "type") == "result":
        run.failed = field_of(line, "is_error") is True


def _asked(content: Any) -> Any:
    """Return what the user wrote, without what the editor puts around it."""
    said = "\n".join(texts_in(content))
    queries = elements_in(said, "user_query")
    return "\n".join(queries) if queries else content


def _take_tool(run: ListedRun, line: Any, at: Any) -> None:
    name, body = _tool_in(line["tool_call"])
    call_id = field_of(line, "call_id")
    if tag_of(line, "subtype") == "started":
        run.begin_reply(optional_text(field_of(line, "model_call_id")))
        run.call(name, field_of(body, "args"), call_id, at)
    elif tag_of(line, "subtype") == "completed":
        result = field_of(body, "result")
        failed = isinstance(result, dict) and "success" not in result and bool(result)
        inner = next(iter(result.values()), None) if isinstance(result, dict) else result
        run.result(inner, call_id, failed=failed, at=at)


def _tool_in(held: Any) -> Tuple[str, Any]:
    """Return the name of a tool and its body: the one entry whose key ends in ToolCall."""
    for key, body in held.items():
        if key == "function":
            return tag_of(body, "name"), {"args": field_of(body, "arguments"), **body}
        if isinstance(body, dict):
            return key[: -len("ToolCall")] if key.endswith("ToolCall") else key, body
    return "", {}


FORMAT = ListedFormat(_recognizes, _listed, _take)
