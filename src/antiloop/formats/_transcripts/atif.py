"""ATIF, the Agent Trajectory Interchange Format of the Harbor framework.

A step of the agent holds its ``tool_calls`` and, mostly, what came of them as ``observation``.
See https://harborframework.com/docs/trajectory-format.
"""

from typing import Any, Iterator, Mapping, Optional, Tuple

from ...stability import beta
from ...types import ToolResult
from .._content import field_of, items_of, optional_text, tag_of, text_of, texts_in, time_of
from .._history import History
from .._history_builder import HistoryBuilder, add_call_in


@beta
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
        at = time_of(step)
        calls = items_of(field_of(step, "tool_calls"))
        if tag_of(step, "source") == "user":
            history.add_user_message(text_of(field_of(step, "message")))
        elif tag_of(step, "source") == "agent":
            history.add_thoughts(*texts_in(field_of(step, "reasoning_content")))
            history.add_reply(*texts_in(field_of(step, "message")))
        for call in calls:
            add_call_in(history, call, ("function_name", "arguments", "tool_call_id"), index, at)
        for result in items_of(field_of(field_of(step, "observation"), "results")):
            # Results beside their calls bear the time of the calls; when they came is not said.
            _add_result(history, result, None if calls else at)
    return history.build()


def _add_result(history: HistoryBuilder, result: Any, at: Optional[float]) -> None:
    # Without content it points at the trajectory of a subagent: the result is not recorded.
    content = field_of(result, "content")
    if content is not None:
        call_id = optional_text(field_of(result, "source_call_id"))
        history.add_result(ToolResult(text_of(content)), call_id, ended_at=at)


def own_steps(trajectory: Any) -> Iterator[Tuple[int, Mapping[str, Any]]]:
    """Yield the steps that are of this run, each with its index."""
    for index, step in enumerate(items_of(field_of(trajectory, "steps"))):
        if field_of(step, "is_copied_context") is not True:
            yield index, step
