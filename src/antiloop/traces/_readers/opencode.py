"""opencode: exports, its database, the files of older versions, and ``run --format json``."""

from typing import Any, Iterator, List

from ..._amounts import moment_s, number
from ...formats._internal import field_of, mapping_of, optional_text, tag_of, text_of
from .._shared.listed_run import Listed, ListedFormat, ListedRun
from .._shared.usage import usage_of

_EVENTS = ("step_start", "tool_use", "text", "step_finish", "error", "reasoning")


def _is_export(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
        return False
    return isinstance(value.get("info"), dict) and any(map(_is_message, value["messages"]))


def _is_message(message: Any) -> bool:
    return isinstance(field_of(message, "info"), dict) and isinstance(
        field_of(message, "parts"), list
    )


def _is_event(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("sessionID"), str):
        return False
    return value.get("type") in _EVENTS and ("part" in value or "error" in value)


def _recognizes(value: Any) -> bool:
    return _is_export(value) or _is_event(value)


def _listed(value: Any) -> Iterator[Listed]:
    if _is_export(value):
        session = optional_text(value["info"].get("id"))
        for message in filter(_is_message, value["messages"]):
            yield session, "", message
    elif _is_event(value):
        part = value.get("part")
        info = {"role": "assistant", "id": field_of(part, "messageID"), "error": value.get("error")}
        yield value["sessionID"], "", {"info": info, "parts": [part]}


def _take(run: ListedRun, message: Any) -> None:
    info, parts = message["info"], message["parts"]
    kinds = [tag_of(part, "type") for part in parts]
    if field_of(info, "summary") is True or "compaction" in kinds:
        run.add_summary(*_texts(parts, "text"))
    elif tag_of(info, "role") == "user":
        # Synthetic parts are files and reminders that come with what the user wrote.
        said = [part for part in parts if field_of(part, "synthetic") is not True]
        is_shown = any(tag_of(part, "type") == "file" for part in said)
        run.add_user_message(*(_texts(said, "text") or [""] * is_shown))
    else:
        _take_reply(run, info, parts)


def _texts(parts: List[Any], kind: str) -> List[str]:
    return [text_of(field_of(part, "text")) for part in parts if tag_of(part, "type") == kind]


def _take_reply(run: ListedRun, info: Any, parts: List[Any]) -> None:
    run.begin_reply(optional_text(field_of(info, "id")))
    tokens = field_of(info, "tokens")
    if tokens is not None:
        amounts = {**mapping_of(tokens)}
        cache = amounts.get("cache")
        amounts.update(read=field_of(cache, "read"), cached_tokens=field_of(cache, "read"))
        usage = usage_of(
            field_of(info, "modelID"), amounts, ("input", "read"), ("output", "reasoning")
        )
        at = moment_s(field_of(field_of(info, "time"), "created"))
        run.used(usage, at, number(field_of(info, "cost")))
    run.add_thoughts(*_texts(parts, "reasoning"))
    run.add_reply(*_texts(parts, "text"))
    for part in parts:
        if tag_of(part, "type") == "tool":
            _take_tool(run, part)


def _take_tool(run: ListedRun, part: Any) -> None:
    state, call_id = field_of(part, "state"), field_of(part, "callID")
    time = field_of(state, "time")
    began, ended = (moment_s(field_of(time, name)) for name in ("start", "end"))
    run.call(field_of(part, "tool"), field_of(state, "input"), call_id, began)
    status = tag_of(state, "status")
    if status not in ("completed", "error"):
        return
    output = field_of(state, "output" if status == "completed" else "error")
    exit_code = field_of(field_of(state, "metadata"), "exit")
    failed = status == "error" or exit_code not in (None, 0)
    run.result(output, call_id, failed=failed, at=ended)


FORMAT = ListedFormat(_recognizes, _listed, _take, client="opencode")
