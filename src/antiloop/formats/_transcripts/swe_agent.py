"""SWE-agent's trajectories: a line of shell as action, what it printed as observation.

See https://swe-agent.com/latest/usage/trajectories/.
"""

from typing import Any, Iterable, Mapping

from ..._amounts import number
from ...stability import beta
from ...types import ToolResult
from .._content import field_of, items_of, optional_text, tag_of, text_of
from .._history import History
from .._history_builder import HistoryBuilder
from .._messages.openai_chat import add_calls


@beta
def from_swe_agent(steps: Iterable[Any]) -> History:
    """Read the tool calls and results of a SWE-agent run.

    The first word of an action is taken as the tool, the rest as its argument ``input``. An entry
    of the older or the inner format, a chat message, is read by its ``tool_calls`` if it has some.

    Args:
        steps: the list under ``trajectory``, or the one under ``history``.

    Returns:
        All calls with their results. Each action is a round; so are the calls of one message.

    >>> history = from_swe_agent([{"action": "open app.py 10", "observation": "[File: app.py]"}])
    >>> history.calls[0].tool_name, history.calls[0].arguments, history.results[0].text
    ('open', {'input': 'app.py 10'}, '[File: app.py]')
    """
    history = HistoryBuilder()
    for index, step in enumerate(steps):
        if field_of(step, "role") is None:
            _add_step(history, step, index)
        else:
            _add_message(history, step, index)
    return history.build()


def _add_step(history: HistoryBuilder, step: Any, index: int) -> None:
    history.add_reply(text_of(field_of(step, "response")))
    if _add_action(history, step, index):
        seen = field_of(step, "observation")
        if seen is not None:
            took = number(field_of(step, "execution_time"))
            history.add_result(ToolResult(text_of(seen), duration_s=took), None)


def _add_message(history: HistoryBuilder, message: Any, index: int) -> None:
    role, text = tag_of(message, "role"), text_of(field_of(message, "content"))
    if role == "assistant":
        history.add_reply(text)
        if items_of(field_of(message, "tool_calls")):
            add_calls(history, message, index)
        else:
            _add_action(history, message, index)
    elif tag_of(message, "message_type") == "observation" or role == "tool":
        for call_id in items_of(field_of(message, "tool_call_ids")) or [None]:
            history.add_result(ToolResult(text), optional_text(call_id))
    elif role == "user":
        history.add_user_message(text)


def _add_action(history: HistoryBuilder, step: Any, index: int) -> bool:
    """Add an action as a call; after an unreadable reply there is no action and no call."""
    words = text_of(field_of(step, "action")).strip().split(None, 1)
    if not words:
        return False
    arguments: Mapping[str, str] = {"input": words[1]} if len(words) > 1 else {}
    history.add_call(words[0], arguments, None, index)
    return True
