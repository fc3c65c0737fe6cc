"""mini-swe-agent's trajectories: chat messages whose only tool is a shell.

With models that have no tool calls, the command is a block of the text, and its output comes
back as a message of the user. See https://mini-swe-agent.com.
"""

import re
from typing import Any, Dict, Iterable, Iterator, List

from ..._amounts import whole_number
from ...stability import beta
from .._content import field_of, items_of, tag_of, text_of
from .._history import History
from .._messages.openai_chat import from_openai_chat

_BLOCK = re.compile(
    r"^```(?:bash|sh|shell|mswea_\w+)[ \t]*\n(.*?)\n?^```", re.DOTALL | re.MULTILINE
)
_STATUS = re.compile(r"\s*<returncode>\s*(-?\d+)\s*</returncode>")


@beta
def from_mini_swe_agent(messages: Iterable[Any]) -> History:
    r"""Read the commands and what they printed, with tool calls or without.

    A command that ended with another status than 0 is an error.

    Args:
        messages: the list under ``messages``.

    Returns:
        All commands as calls of ``bash``. Those of one message are one round.

    >>> history = from_mini_swe_agent([
    ...     {"role": "assistant", "content": "I look.\n```bash\nls\n```"},
    ...     {"role": "user", "content": "<returncode>0</returncode> a.py"},
    ... ])
    >>> history.calls[0].arguments, history.results[0].text
    ({'command': 'ls'}, '<returncode>0</returncode> a.py')
    """
    return from_openai_chat(_as_chat(messages))


def _as_chat(messages: Iterable[Any]) -> Iterator[Dict[str, Any]]:
    """Return the messages as chat messages with tool calls."""
    waiting = 0
    for message in messages:
        role = tag_of(message, "role")
        if role == "assistant":
            calls = items_of(field_of(message, "tool_calls")) or _calls_in(message)
            waiting = len(calls)
            yield {"role": role, "tool_calls": calls, "content": field_of(message, "content")}
        elif role == "tool" or (role == "user" and waiting and not _is_of_person(message)):
            waiting -= 1
            yield _result(message)
        else:
            # An error of the format is the program's word in the place of the user.
            is_users = role != "user" or _is_of_person(message) or not _interrupt_in(message)
            speaker = role if is_users else "system"
            yield {"role": speaker, "content": field_of(message, "content")}


def _interrupt_in(message: Any) -> str:
    """Return why a message is in the place of the user, where that is recorded."""
    return tag_of(field_of(message, "extra"), "interrupt_type")


def _is_of_person(message: Any) -> bool:
    return _interrupt_in(message).startswith("User")


def _calls_in(message: Any) -> List[Dict[str, Any]]:
    actions = items_of(field_of(field_of(message, "extra"), "actions"))
    commands = [field_of(action, "command") for action in actions]
    if not commands:
        commands = _BLOCK.findall(text_of(field_of(message, "content")))
    # More than one block is not run: the model is asked to decide.
    if not actions and len(commands) != 1:
        return []
    return [{"name": "bash", "arguments": {"command": command}} for command in commands]


def _result(message: Any) -> Dict[str, Any]:
    content = field_of(message, "content")
    status = field_of(field_of(message, "extra"), "returncode")
    if status is None:
        match = _STATUS.match(text_of(content))
        status = match[1] if match else 0
    return {
        "role": "tool",
        "content": content,
        "is_error": whole_number(status) != 0 or _interrupt_in(message) != "",
        "tool_call_id": field_of(message, "tool_call_id"),
    }
