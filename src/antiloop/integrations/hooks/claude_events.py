"""The calls and results in the events of Claude Code's hooks."""

from typing import Any, List, Mapping, Tuple

from ...formats.content import field_of, items_of, optional_text, text_of
from ...types import ToolCall, ToolResult
from .transcript_tail import is_failure

Answers = List[Tuple[ToolCall, ToolResult]]
_ROUND = -1  # the round that has just run; those of a transcript count from 0


def call_of(said: Mapping[str, Any]) -> ToolCall:
    """Return the call of an event, or of a part of one."""
    call_id = optional_text(field_of(said, "tool_use_id"))
    return ToolCall(
        text_of(field_of(said, "tool_name")), field_of(said, "tool_input"), call_id, _ROUND
    )


def answers_of(event: Mapping[str, Any], lines: List[Any]) -> Answers:
    """Return the calls that have just run, with their results as the model reads them."""
    kind = event.get("hook_event_name")
    if kind == "PostToolBatch":
        called = [each for each in items_of(event.get("tool_calls")) if isinstance(each, Mapping)]
        texts = [text_of(each.get("tool_response")) for each in called]
        return [
            (call_of(each), ToolResult(text, is_failure(text))) for each, text in zip(called, texts)
        ]
    if kind == "PostToolUse":
        return [(call_of(event), _result_like(event.get("tool_response"), lines))]
    if kind == "PostToolUseFailure":
        return [(call_of(event), ToolResult(text_of(event.get("error")), is_error=True))]
    return []


def _result_like(response: Any, lines: List[Any]) -> ToolResult:
    """Return a tool's answer as text: as in the transcript, if that has the same answer."""
    for line in lines:
        if field_of(line, "toolUseResult") == response is not None:
            blocks = items_of(field_of(field_of(line, "message"), "content"))
            return ToolResult(text_of(field_of(blocks[0], "content") if blocks else response))
    if isinstance(response, Mapping) and "stdout" in response:
        said = (text_of(response.get(stream)) for stream in ("stdout", "stderr"))
        return ToolResult("\n".join(filter(None, said)))
    return ToolResult(text_of(response))
