"""A run as one line of our own format; `antiloop_jsonl` reads it."""

import json
from typing import Any, Dict, Iterable, Optional, Sequence, Tuple

from ..formats import TextMessage
from ..loop_detection import Opinion
from ..loop_detection.text.canonical import plain
from ..types import ToolCall, ToolResult


def run_line(
    run_id: str,
    steps: Iterable[Dict[str, Any]],
    messages: Sequence[TextMessage],
    opinions: Sequence[Tuple[int, Opinion]],
) -> str:
    """Write a run as JSON, newline included.

    Args:
        run_id: its id.
        steps: as `step_of` gives them.
        messages: what was said and thought.
        opinions: what judges said, each with the step that they were asked at.
    """
    value: Dict[str, Any] = {"run_id": run_id, "steps": list(steps)}
    if messages:
        value["messages"] = list(map(_message, messages))
    if opinions:
        value["opinions"] = [{"step": step, **opinion.to_dict()} for step, opinion in opinions]
    return json.dumps(value) + "\n"


def _message(message: TextMessage) -> Dict[str, Any]:
    value = {"role": message.role.value, "text": message.text, "position": message.position}
    return {**value, "thought": True} if message.is_thought else value


def step_of(
    call: ToolCall, result: Optional[ToolResult], *, is_after_user: bool = False
) -> Dict[str, Any]:
    """Return a call and its result, None where it is not known, as plain JSON."""
    step: Dict[str, Any] = {"tool_name": call.tool_name, "arguments": plain(call.arguments)}
    if call.id is not None:
        step["id"] = call.id
    if call.round is not None:
        step["round"] = call.round
    if result is not None:
        step["result"] = result.text
    if result is not None and result.is_error:
        step["is_error"] = True
    if is_after_user:
        step["after_user"] = True
    return step
