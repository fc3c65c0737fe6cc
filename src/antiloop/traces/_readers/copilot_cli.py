"""Copilot CLI: ``session-state/*/events.jsonl``, one event a line; subagents are separate runs."""

from typing import Any, Iterator

from ..._amounts import moment_s, whole_number
from ...formats._internal import field_of, first_field, items_of, optional_text, tag_of, text_of
from .._shared.listed_run import Listed, ListedFormat, ListedRun
from .._shared.usage import usage_of

_KINDS = ("session.", "assistant.", "user.", "tool.", "subagent.", "system.", "hook.", "skill.")


def _recognizes(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("data"), dict):
        return False
    return tag_of(value, "type").startswith(_KINDS) and "timestamp" in value


def _listed(value: Any) -> Iterator[Listed]:
    if isinstance(field_of(value, "data"), dict) and isinstance(value.get("type"), str):
        is_begin = value["type"] in ("session.start", "session.resume")
        session = optional_text(value["data"].get("sessionId")) if is_begin else None
        yield session, text_of(value.get("agentId")), value


def _take(run: ListedRun, event: Any) -> None:
    kind, data = event["type"], event["data"]
    at = moment_s(event.get("timestamp"))
    call_id = data.get("toolCallId")
    if kind == "user.message" and data.get("source") in (None, "user"):
        run.add_user_message(text_of(data.get("content")))
    elif kind == "session.usage_record":
        amounts = data.get("usage")
        read = ("inputTokens", "cacheReadTokens")
        run.used(usage_of(field_of(amounts, "model"), amounts, read, ("outputTokens",)), at)
    elif kind == "assistant.message":
        run.begin_reply()
        run.add_thoughts(text_of(data.get("reasoningText")))
        run.add_reply(text_of(data.get("content")))
        for call in items_of(data.get("toolRequests")):
            run.ask(call, at)
    elif kind == "tool.execution_complete":
        _take_result(run, data, call_id, at)
    elif kind == "session.compaction_complete" and data.get("success") is not False:
        run.add_summary(text_of(data.get("summaryContent")))
    elif kind == "session.truncation":
        _take_trim(run, data)


def _take_trim(run: ListedRun, data: Any) -> None:
    """Take what was removed from a conversation; most looks at its length remove nothing."""
    removed = whole_number(data.get("messagesRemovedDuringTruncation"))
    held = whole_number(data.get("postTruncationMessagesLength"))
    if removed is None:
        run.add_summary()
    elif removed:
        run.trimmed(removed, held)


def _take_result(run: ListedRun, data: Any, call_id: Any, at: Any) -> None:
    code = field_of(data.get("shellExecution"), "exitCode")
    failed = data.get("success") is False or code not in (None, 0)
    given = first_field(data.get("result"), "content", "detailedContent")
    error = field_of(data.get("error"), "message")
    content = given if given or error is None else error
    run.result(content, call_id, failed=failed, at=at)


FORMAT = ListedFormat(_recognizes, _listed, _take, client="copilot")
