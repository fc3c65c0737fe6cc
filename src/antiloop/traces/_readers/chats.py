"""Sessions whose messages hold blocks, or calls beside the text, in a shape that many share.

For each client the table says how its values are known, and where their messages are.
"""

from typing import Any, Callable, Dict, Iterator, List

from ..._amounts import moment_s
from ...formats._internal import (
    field_of,
    filled_field,
    first_field,
    flag_of,
    items_of,
    mapping_of,
    optional_text,
    tag_of,
    text_of,
)
from .._shared.listed_run import Listed, ListedFormat, ListedRun, kind_of

_ROLES = ("system", "user", "assistant", "tool", "developer", "function")


def _has_block(content: Any, *kinds: str) -> bool:
    return any(kind_of(block).endswith(kinds) for block in items_of(content))


def any_of(values: Any, test: Callable[[Any], bool]) -> bool:
    """Whether a value is a list with an item that passes a test."""
    return isinstance(values, list) and any(map(test, values))


def messages_in(value: Any) -> Any:
    """Return the messages of a value: itself, or what it holds under that name."""
    return value if isinstance(value, list) else field_of(value, "messages")


# Factory Droid: ``~/.factory/sessions/*/*.jsonl``.


def _is_droid(value: Any) -> bool:
    kind = tag_of(value, "type")
    if kind == "session_start":
        return "id" in value and bool({"cwd", "title"} & value.keys())
    content = field_of(field_of(value, "message"), "content")
    return kind == "message" and _has_block(content, "tooluse", "toolresult")


def _listed_droid(value: Any) -> Iterator[Listed]:
    kind = tag_of(value, "type")
    if kind:
        yield optional_text(value.get("id")) if kind == "session_start" else None, "", value


def _take_droid(run: ListedRun, line: Any) -> None:
    if tag_of(line, "type") == "compaction_state":
        run.add_summary(text_of(filled_field(line, "summaryText", "summary")))
    elif tag_of(line, "type") == "message":
        message = field_of(line, "message")
        content = blocks_in(message)
        # What is for the model alone no person wrote.
        is_hidden = tag_of(line, "visibility") == "llm_only"
        content = [each for each in content if not (is_hidden or _is_reminder(each))]
        run.chat({**mapping_of(message), "content": content}, moment_s(field_of(line, "timestamp")))


def _is_reminder(block: Any) -> bool:
    text = block if isinstance(block, str) else tag_of(block, "text")
    return text.startswith("<system-reminder>")


def blocks_in(message: Any) -> List[Any]:
    """Return the blocks of a message; plain text is one."""
    content = field_of(message, "content")
    return items_of(content) or [content]


# Amp: ``~/.local/share/amp/threads/T-*.json``.


def _is_amp(value: Any) -> bool:
    is_thread = isinstance(value, dict) and text_of(value.get("id")).startswith("T-")
    return is_thread and any_of(value.get("messages"), lambda one: tag_of(one, "role") in _ROLES)


def listed_under(key: str, *ids: str) -> Callable[[Any], Iterator[Listed]]:
    """Make what finds the messages of a document: a list, or what it holds under a key.

    Args:
        key: where an object has the messages.
        ids: where it has the id of the session.
    """

    def listed(value: Any) -> Iterator[Listed]:
        session = filled_field(value, *ids) if isinstance(value, dict) else None
        for message in items_of(value if isinstance(value, list) else field_of(value, key)):
            yield optional_text(session), "", message

    return listed


listed_document = listed_under("messages", "id", "sessionId")


def _take_amp(run: ListedRun, message: Any) -> None:
    at = moment_s(field_of(field_of(message, "meta"), "sentAt"))
    blocks = blocks_in(message)
    results = [block for block in blocks if tag_of(block, "type") == "tool_result"]
    others = [block for block in blocks if tag_of(block, "type") != "tool_result"]
    for block in results:
        listed = field_of(block, "run")
        failed = tag_of(listed, "status") not in ("", "done")
        content = first_field(listed, "result", "error") if listed is not None else block
        run.result(content, field_of(block, "toolUseID"), failed=failed, at=at)
    if others:
        run.message(tag_of(message, "role"), others, at)


# Crush: ``.crush/crush.db``, of which each session comes as one value.


def _is_crush(value: Any) -> bool:
    return isinstance(value, dict) and "crush_session" in value


def _take_crush(run: ListedRun, message: Any) -> None:
    if flag_of(message, "is_summary_message"):
        run.add_summary()
    blocks = []
    for part in items_of(field_of(message, "parts")):
        data = field_of(part, "data")
        kind = tag_of(part, "type")
        if isinstance(data, dict) and kind != "finish":
            named = {"reasoning": "thinking"}.get(kind, kind)
            blocks.append({**data, "type": named})
    run.message(tag_of(message, "role"), blocks, moment_s(field_of(message, "created_at")))


# Goose: ``sessions.db``, exports, and the JSONL of older versions.


def _is_goose_message(message: Any) -> bool:
    content = field_of(message, "content")
    return _has_block(content, "toolrequest", "toolresponse") and "created" in mapping_of(message)


def _is_goose(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    held = value.get("conversation") or value.get("messages")
    is_begin = "working_dir" in value and "role" not in value
    return is_begin or any_of(held, _is_goose_message) or _is_goose_message(value)


def _listed_goose(value: Any) -> Iterator[Listed]:
    if not isinstance(value, dict):
        return
    session = optional_text(value.get("id")) if "working_dir" in value else None
    held = value.get("conversation") or value.get("messages")
    if isinstance(held, list):
        for message in held:
            yield session, "", message
    elif "role" in value:
        yield None, "", value
    elif "working_dir" in value:
        yield session, "", None


def _take_goose(run: ListedRun, message: Any) -> None:
    at, blocks = moment_s(field_of(message, "created")), blocks_in(message)
    said = []
    for block in blocks:
        call = field_of(field_of(block, "toolCall"), "value")
        given = field_of(block, "toolResult")
        if tag_of(block, "type") == "toolRequest":
            said.append({"type": "tool_use", "id": field_of(block, "id"), **mapping_of(call)})
        elif tag_of(block, "type") == "toolResponse":
            said.append(_goose_result(block, given))
        elif tag_of(block, "type") not in ("toolConfirmationRequest", "contextLengthExceeded"):
            said.append(block)
        if tag_of(block, "type") in ("conversationCompacted", "summarizationRequested"):
            run.add_summary()
    run.message(tag_of(message, "role"), said, at)


def _goose_result(block: Any, given: Any) -> Dict[str, Any]:
    value = field_of(given, "value")
    content = field_of(value, "content") if isinstance(value, dict) else value
    failed = tag_of(given, "status") == "error" or field_of(value, "isError") is True
    content = field_of(given, "error") if content is None else content
    return {
        "type": "tool_result",
        "tool_use_id": field_of(block, "id"),
        "content": content,
        "is_error": failed,
    }


# Continue: ``~/.continue/sessions/*.json``.


def _is_continue(value: Any) -> bool:
    history = field_of(value, "history") if isinstance(value, dict) else None
    return any_of(history, lambda item: isinstance(field_of(item, "message"), dict))


def _listed_continue(value: Any) -> Iterator[Listed]:
    if _is_continue(value):
        for item in value["history"]:
            yield optional_text(value.get("sessionId")), "", item


def _take_continue(run: ListedRun, item: Any) -> None:
    message = field_of(item, "message")
    if flag_of(item, "conversationSummary"):
        run.add_summary(text_of(field_of(item, "conversationSummary")))
    if tag_of(message, "role") == "thinking":
        run.add_thoughts(text_of(field_of(message, "content")))
        return
    if tag_of(message, "role") == "tool":
        return  # the state of its call says more
    before = len(run)
    run.chat(message)
    asked = {call.id for call in run.calls[before - len(run) :]} if len(run) > before else set()
    for state in items_of(field_of(item, "toolCallStates")):
        call = field_of(state, "toolCall")
        call_id = filled_field(state, "toolCallId") or field_of(call, "id")
        if optional_text(call_id) not in asked:
            body = field_of(call, "function")
            run.call(field_of(body, "name"), field_of(body, "arguments"), call_id)
        if tag_of(state, "status") in ("done", "errored", "canceled"):
            output = state.get("output")
            parts = [field_of(one, "content") for one in items_of(output)]
            is_read = bool(parts) and None not in parts
            text = "\n".join(map(text_of, parts)) if is_read else text_of(output)
            run.result(text, call_id, failed=state["status"] != "done")


# Kimi CLI: ``~/.kimi/sessions/*/*/context.jsonl``, and its ``wire.jsonl``.


def _is_kimi(value: Any) -> bool:
    return tag_of(value, "role") in ("_checkpoint", "_usage", "_system_prompt") or _is_wire(value)


def _is_wire(value: Any) -> bool:
    message = field_of(value, "message")
    return isinstance(field_of(message, "payload"), dict) and "timestamp" in value


def _listed_lines(value: Any) -> Iterator[Listed]:
    if tag_of(value, "role") or _is_wire(value):
        yield None, "", value


def _take_kimi(run: ListedRun, line: Any) -> None:
    if not _is_wire(line):
        content = field_of(line, "content")
        thoughts = [text_of(field_of(b, "think")) for b in items_of(content)]
        run.add_thoughts(*filter(None, thoughts))
        if not tag_of(line, "role").startswith("_"):
            run.chat(line)
        return
    message, at = line["message"], moment_s(line["timestamp"])
    kind, payload = tag_of(message, "type"), message["payload"]
    if kind == "TurnBegin":
        run.add_user_message(text_of(payload.get("user_input")))
    elif kind == "StepBegin":
        run.begin_reply()
    elif kind == "CompactionBegin":
        run.add_summary()
    elif kind == "ToolCall":
        run.ask(payload, at)
    elif kind == "ToolResult":
        value = filled_field(payload, "return_value", "result")
        content = first_field(value, "output", "message", "brief")
        failed = flag_of(value, "is_error")
        run.result(content, payload.get("tool_call_id"), failed=failed, at=at)


# One chat message a line, as many programs write them.


def _is_chat_line(value: Any) -> bool:
    is_message = tag_of(value, "role") in _ROLES and "messages" not in value
    return is_message and bool({"content", "tool_calls"} & value.keys())


def _take_chat_line(run: ListedRun, message: Any) -> None:
    run.chat(message, moment_s(filled_field(message, "timestamp", "created_at", "time")))


CHATS: Dict[str, ListedFormat] = {
    "droid": ListedFormat(_is_droid, _listed_droid, _take_droid),
    "amp": ListedFormat(_is_amp, listed_document, _take_amp, is_document=True),
    "crush": ListedFormat(
        _is_crush, listed_under("messages", "crush_session"), _take_crush, is_document=True
    ),
    "goose": ListedFormat(_is_goose, _listed_goose, _take_goose),
    "continue": ListedFormat(_is_continue, _listed_continue, _take_continue, is_document=True),
    "kimi": ListedFormat(_is_kimi, _listed_lines, _take_kimi),
    "chat-lines": ListedFormat(_is_chat_line, _listed_lines, _take_chat_line),
}
"""By their names in ``FORMATS``."""
