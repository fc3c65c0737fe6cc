"""The monitor of a run that is continued: the conversation so far is replayed into it.

Without this a run that fails every few calls and is continued each time would never be seen in a
loop. The opinions of judges are not in a conversation, so they are the one thing that is lost.
"""

from dataclasses import replace
from typing import List, Optional, Sequence

from ..loop_detection import LoopMonitor
from ..loop_detection._internal import NOTICE_MARKER
from ..types import Message, Role, ToolCall, ToolResult
from ._output import RETRY_MARKER


def replay(messages: Sequence[Message], monitor: LoopMonitor) -> None:
    """Report a conversation to a monitor, as the run reported it when it happened."""
    number = 0
    monitor.recall((), can_ask=False)
    has_begun = False  # what the user said first is the task, and not progress in it
    for at, message in enumerate(messages):
        if message.role is Role.ASSISTANT:
            has_begun = True
            monitor.said(message.content)
            if message.tool_calls:
                number += 1
                calls = [replace(call, round=number) for call in message.tool_calls]
                monitor.after(calls, _results(message.tool_calls, messages[at + 1 :]))
        elif message.role is Role.USER and has_begun:
            _hear(message.content, monitor)
    monitor.recall((), can_ask=True)


def rounds_in(messages: Sequence[Message]) -> int:
    """Return the number of rounds in a conversation; those that follow are counted on from it."""
    return sum(1 for message in messages if message.tool_calls)


def _hear(text: str, monitor: LoopMonitor) -> None:
    if not text.startswith(NOTICE_MARKER):
        monitor.user_message(is_progress=not text.startswith(RETRY_MARKER))


def _results(calls: Sequence[ToolCall], after: Sequence[Message]) -> List[Optional[ToolResult]]:
    """Return what came back, None for what did not: by id, else in the order of the calls."""
    answers: List[Optional[Message]] = []
    for message in after:
        if message.role is Role.ASSISTANT:
            break
        if message.role is Role.TOOL:
            answers.append(message)
    by_id = {each.tool_call_id: each for each in answers if each}
    ids = [call.id for call in calls]
    if None in ids or len(set(ids)) < len(ids):
        found = [*answers, *[None] * len(calls)][: len(calls)]
    else:
        found = [by_id.get(each) for each in ids]
    return [None if each is None else ToolResult(each.content, each.is_error) for each in found]
