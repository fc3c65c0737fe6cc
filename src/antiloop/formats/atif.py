"""ATIF, the Agent Trajectory Interchange Format of the Harbor framework.

A step of the agent holds its ``tool_calls`` and, mostly, what came of them as ``observation``.
See https://harborframework.com/docs/trajectory-format.
"""

from typing import Any, Iterator, List, Mapping, Tuple

from ..loop_detection.messages import NOTICE_MARKER
from ..types import ToolResult
from .content import arguments_of, field_of, optional_text, text_of
from .history import History, HistoryBuilder


def from_atif(trajectory: Any) -> History:
    """Read the tool calls and results of an ATIF trajectory.

    Steps that were copied from an earlier trajectory are left out: they are not of this run.

    Args:
        trajectory: the JSON object with ``steps``, or the object of a library of that shape.

    Returns:
        All calls with their results. The calls of one step are one round, with its index as
        number.

    >>> call = {"tool_call_id": "1", "function_name": "ls", "arguments": {"path": "."}}
    >>> step = {"source": "agent", "tool_calls": [call],
    ...         "observation": {"results": [{"source_call_id": "1", "content": "a.py"}]}}
    >>> from_atif({"steps": [step]}).results[0].text
    'a.py'
    """
    history = HistoryBuilder()
    for index, step in own_steps(trajectory):
        if field_of(step, "source") == "user" and not _is_notice(step):
            history.add_user_message()
        for call in _listed(field_of(step, "tool_calls")):
            history.add_call(
                text_of(field_of(call, "function_name")),
                arguments_of(field_of(call, "arguments")),
                optional_text(field_of(call, "tool_call_id")),
                index,
            )
        for result in _listed(field_of(field_of(step, "observation"), "results")):
            history.add_result(
                ToolResult(text_of(field_of(result, "content"))),
                optional_text(field_of(result, "source_call_id")),
            )
    return history.build()


def own_steps(trajectory: Any) -> Iterator[Tuple[int, Mapping[str, Any]]]:
    """Yield the steps that are of this run, each with its index."""
    for index, step in enumerate(_listed(field_of(trajectory, "steps"))):
        if field_of(step, "is_copied_context") is not True:
            yield index, step


def _listed(value: Any) -> List[Any]:
    return list(value) if isinstance(value, (list, tuple)) else []


def _is_notice(step: Any) -> bool:
    """Whether it was antiloop that spoke as the user; that is no progress."""
    return text_of(field_of(step, "message")).startswith(NOTICE_MARKER)
