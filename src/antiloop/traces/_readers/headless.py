"""The output of Codex and Gemini CLI without a terminal: ``codex exec --json``, ``stream-json``."""

from typing import Any, Dict, Iterator

from ..._amounts import whole_number
from ...formats._internal import field_of, first_field, optional_text, tag_of, text_of, time_of
from .._shared.listed_run import Listed, ListedFormat, ListedRun
from .._shared.usage import ReplyUsage, usage_of

_THREAD = ("thread.started", "turn.started", "turn.completed", "turn.failed", "error")
_ITEM = ("item.started", "item.updated", "item.completed")
_WORDS = ("agent_message", "reasoning", "error", "todo_list")
_RESULT = ("aggregated_output", "result", "error", "changes", "output")
_RECENT = 100  # calls among which the one that an item goes on with is looked for
_ABOUT = frozenset(("id", "type", "status", "exit_code", *_RESULT))


def _is_codex(value: Any) -> bool:
    kind = tag_of(value, "type")
    is_item = kind in _ITEM and isinstance(field_of(value, "item"), dict)
    return is_item or (kind == "thread.started" and "thread_id" in value)


def _listed_codex(value: Any) -> Iterator[Listed]:
    if tag_of(value, "type") in (*_THREAD, *_ITEM):
        yield optional_text(value.get("thread_id")), "", value


def _take_codex(run: ListedRun, event: Any) -> None:
    kind, item = event["type"], field_of(event, "item")
    if kind == "turn.started" and len(run):
        run.add_user_message("")
    elif kind == "turn.failed":
        run.failed = True
    elif kind == "turn.completed":
        usage = usage_of(None, event.get("usage"), ("input_tokens",), ("output_tokens",))
        run.used(usage)
    elif tag_of(item, "type") == "agent_message" and kind == "item.completed":
        run.add_reply(text_of(field_of(item, "text")))
    elif tag_of(item, "type") == "reasoning" and kind == "item.completed":
        run.add_thoughts(text_of(field_of(item, "text")))
    elif isinstance(item, dict) and item.get("type") not in _WORDS and kind in _ITEM:
        _take_item(run, item, kind)


def _take_item(run: ListedRun, item: Dict[str, Any], kind: str) -> None:
    own, is_over = optional_text(item.get("id")), kind == "item.completed"
    # The numbers of items begin again each time that a session is gone on with.
    if kind == "item.started" or not run.is_open(own, _RECENT):
        run.begin_reply()
        tool = text_of(item.get("tool")) or tag_of(item, "type")
        run.call(tool, _arguments_of(item), own)
    if is_over:
        code = whole_number(item.get("exit_code"))
        failed = item.get("status") in ("failed", "declined") or code not in (None, 0)
        run.result(first_field(item, *_RESULT), own, failed=failed)


def _arguments_of(item: Dict[str, Any]) -> Any:
    given = item.get("arguments")
    if given is not None:
        return given
    if item.get("type") == "file_change":
        return {"changes": item.get("changes")}
    return {name: value for name, value in item.items() if name not in _ABOUT}


CODEX_EXEC = ListedFormat(_is_codex, _listed_codex, _take_codex, client="codex")

_GEMINI = ("init", "message", "tool_use", "tool_result", "error", "result")


def _is_gemini(value: Any) -> bool:
    kind = tag_of(value, "type")
    if kind == "init":
        return "session_id" in value and "model" in value
    return kind in ("tool_use", "tool_result") and "tool_id" in value


def _listed_gemini(value: Any) -> Iterator[Listed]:
    if tag_of(value, "type") in _GEMINI:
        yield optional_text(value.get("session_id")), "", value


def _take_gemini(run: ListedRun, event: Any) -> None:
    kind, at = event["type"], time_of(event)
    call_id = event.get("tool_id")
    is_of_user = event.get("role") == "user"
    if kind == "message" and event.get("delta") is True and not is_of_user:
        run.add_piece(text_of(event.get("content")))
        return
    run.end_words()
    if kind == "init":
        run.used(ReplyUsage(optional_text(event.get("model"))), at)
    elif kind == "message" and is_of_user:
        run.add_user_message(text_of(event.get("content")))
    elif kind == "message":
        run.add_reply(text_of(event.get("content")))
    elif kind == "tool_use":
        # Calls of one reply come before the first result.
        run.begin_reply(f"after {run.answered}")
        run.call(event.get("tool_name"), event.get("parameters"), call_id, at)
    elif kind == "tool_result":
        failed = event.get("status") == "error"
        message = field_of(event.get("error"), "message")
        output = event.get("output")
        run.result(output if output or message is None else message, call_id, failed=failed, at=at)
    elif kind == "result":
        run.failed = event.get("status") == "error"


GEMINI_STREAM = ListedFormat(_is_gemini, _listed_gemini, _take_gemini, client="gemini-cli")
