"""Qwen Code: ``~/.qwen/projects/*/chats/*.jsonl``, one record a line."""

from typing import Any, Iterator

from ..._amounts import number
from ...formats._internal import field_of, flag_of, gemini, optional_text, tag_of, text_of, time_of
from .._shared.listed_run import Listed, ListedFormat, ListedRun
from .conversations import gemini_usage

_KINDS = ("user", "assistant", "tool_result", "system")
_FAILED = ("error", "cancelled")


def _recognizes(value: Any) -> bool:
    if tag_of(value, "type") not in _KINDS or not {"uuid", "sessionId"} <= value.keys():
        return False
    return bool(gemini.parts_of(value.get("message"))) or "systemPayload" in value


def _listed(value: Any) -> Iterator[Listed]:
    if _recognizes(value):
        yield optional_text(value["sessionId"]), text_of(value.get("agentId")), value


def _take(run: ListedRun, record: Any) -> None:
    message, at = record.get("message"), time_of(record)
    if record["type"] == "system":
        if record.get("subtype") == "chat_compression":
            run.add_summary()
    elif record["type"] == "assistant":
        run.used(gemini_usage({"modelVersion": record.get("model"), **record}), at)
        run.begin_reply()
        run.add_thoughts(*gemini.words_in(message, thoughts=True))
        run.add_reply(*gemini.words_in(message))
        for call in filter(None, map(gemini.call_in, gemini.parts_of(message))):
            run.ask(call, at)
    else:
        _take_answers(run, record, message, at)


def _take_answers(run: ListedRun, record: Any, message: Any, at: Any) -> None:
    listed = record.get("toolCallResult")
    failed = tag_of(listed, "status") in _FAILED or flag_of(listed, "error")
    took_ms = number(field_of(listed, "durationMs"))
    took_s = None if took_ms is None else took_ms / 1000
    for part in gemini.parts_of(message):
        response = gemini.response_in(part)
        if response is not None:
            result = gemini.result_of(field_of(response, "response"))
            call_id, is_error = field_of(response, "id"), failed or result.is_error
            run.result(result.text, call_id, failed=is_error, at=at, took_s=took_s)
    if record["type"] == "user" and record.get("provenance") in (None, "real_user"):
        run.add_user_message(*gemini.said_in(message))


FORMAT = ListedFormat(_recognizes, _listed, _take, client="qwen-code")
