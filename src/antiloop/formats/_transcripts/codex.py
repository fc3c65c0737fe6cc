"""Codex CLI: the lines of a session's rollout file."""

import re
from typing import Any, Iterable, Mapping, Optional, Tuple

from ..._amounts import number, whole_number
from ...stability import beta
from ...types import ToolResult
from .._content import arguments_of, field_of, tag_of, text_of, time_of
from .._history import History
from .._messages.openai_responses import ItemsBuilder, result_of

_HEADER = re.compile(r"((?:[^\n]{1,500}\n){1,8}?)Output:\n")
_EXIT_CODE = re.compile(r"(?:^Exit code: |exited with code )(-?\d+)", re.MULTILINE)
_WALL_TIME = re.compile(r"^Wall time: (\d{1,9}(?:\.\d*)?) seconds", re.MULTILINE)
_RUNNING = "Process running with session"
_WRAPPED = (("output", {"output", "metadata"}), ("content", {"content", "success"}))
"""The field of an output, and all fields around it; a tool may answer with one of them, too."""


@beta
def from_codex_rollout(lines: Iterable[Any]) -> History:
    """Read the tool calls and results of a Codex CLI session.

    Args:
        lines: the JSON values of the file's lines, in order; older files have the items of the
            conversation themselves as lines.

    Returns:
        All calls with their results. A command's output stands without what Codex writes around
        it, which differs from run to run; an exit code other than 0 is a failure, and is kept.

    >>> call = {"type": "function_call", "call_id": "c1", "name": "shell", "arguments": "{}"}
    >>> from_codex_rollout([{"type": "response_item", "payload": call}]).calls[0].tool_name
    'shell'
    """
    rollout = RolloutBuilder()
    for line in lines:
        rollout.add_line(line)
    return rollout.build()


class RolloutBuilder(ItemsBuilder):
    """Collects calls and results, line by line."""

    def __init__(self) -> None:
        super().__init__("codex")

    def add_line(self, line: Any) -> None:
        """Add one line; skip it if it is not an item of the conversation."""
        item = item_of(line)
        if tag_of(line, "type") == "compacted":
            self.add_summary(text_of(field_of(field_of(line, "payload"), "message")))
        self.add_item(item, time_of(line))

    def _read_result(self, item: Any) -> ToolResult:
        """Read a result without what Codex writes around the output of a command."""
        result = super()._read_result(item)
        output, code, is_running = _unwrapped(result.text)
        took = seconds_of(item)
        if is_running:
            return ToolResult(f"{output}\nThe process is still running.", result.is_error, took)
        if code:
            return ToolResult(f"{output}\n[exit code {code}]", True, took)
        is_said_to_fail = field_of(field_of(item, "output"), "success") is False
        return ToolResult(output, result.is_error or is_said_to_fail, took)


def _unwrapped(text: str) -> Tuple[str, Optional[int], bool]:
    """Return output, exit code, and whether the command still runs, out of what Codex wrote."""
    parsed = arguments_of(text)
    if isinstance(parsed, Mapping):
        name = next((name for name, fields in _WRAPPED if fields == parsed.keys()), None)
        code = whole_number(field_of(parsed.get("metadata"), "exit_code"))
        return (text_of(parsed[name]) if name else text), code if name else None, False
    header = _HEADER.match(text)
    if header is None or "Wall time:" not in header[1]:
        return text, None, False
    found = _EXIT_CODE.search(header[1])
    return text[header.end() :], int(found[1]) if found else None, _RUNNING in header[1]


def item_of(line: Any) -> Any:
    """Return the item of the conversation that a line holds; None where it holds none."""
    payload = field_of(line, "payload")
    if payload is None:
        return line
    return payload if tag_of(line, "type") == "response_item" else None


def seconds_of(item: Any) -> Optional[float]:
    """Read how long a command took out of what Codex wrote around its output."""
    text = result_of(item).text
    parsed = arguments_of(text)
    if isinstance(parsed, Mapping):
        return number(field_of(parsed.get("metadata"), "duration_seconds"))
    header = _HEADER.match(text)
    found = _WALL_TIME.search(header[1]) if header else None
    return number(found[1]) if found else None
