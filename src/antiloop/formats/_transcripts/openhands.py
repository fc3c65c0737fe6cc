"""OpenHands' event streams: actions and the observations that they cause.

Read are the events of OpenHands up to 1.0 (``action`` and ``observation`` name what happened) and
those of its agent SDK (``kind`` does).
"""

from typing import Any, Dict, Iterable, List, Mapping, Optional

from ..._text.canonical import plain
from ...stability import beta
from ...types import ToolResult
from .._content import (
    arguments_of,
    field_of,
    filled_field,
    items_of,
    optional_text,
    tag_of,
    text_of,
    texts_in,
    time_of,
)
from .._growing_history import keep_latest
from .._history import History
from .._history_builder import HistoryBuilder

_NO_TOOLS = frozenset(
    """
    agent_state_changed change_agent_state condensation condensation_request condense initialize
    loop_recall message null pause recall resume start stop streaming_chunk system
    """.split()
)
_NOISE = frozenset(("blocking", "confirmation_state", "hidden", "security_risk", "thought"))
_RESULTS = ("ObservationEvent", "AgentErrorEvent", "UserRejectObservation")


@beta
def from_openhands(events: Iterable[Any]) -> History:
    """Read the tool calls and results of one OpenHands conversation.

    Args:
        events: oldest first, as JSON objects.

    Returns:
        All actions that use a tool, with the observations that name them as their cause. The
        actions that one reply of the model asked for are one round.

    >>> history = from_openhands([
    ...     {"id": 1, "source": "agent", "action": "run", "args": {"command": "ls"}},
    ...     {"id": 2, "cause": 1, "observation": "run", "content": "a.py"},
    ... ])
    >>> history.calls[0].tool_name, history.calls[0].arguments, history.results[0].text
    ('run', {'command': 'ls'}, 'a.py')
    """
    conversation = EventsBuilder()
    for event in events:
        conversation.add_event(event)
    return conversation.build()


def is_call(event: Any) -> bool:
    """Whether an event is the use of a tool."""
    if is_of_sdk(event):
        return tag_of(event, "kind") == "ActionEvent"
    action = field_of(event, "action")
    if not isinstance(action, str) or tag_of(event, "source") not in ("agent", ""):
        return False
    return action not in _NO_TOOLS


def is_result(event: Any) -> bool:
    """Whether an event tells what came of a tool."""
    if is_of_sdk(event):
        return tag_of(event, "kind") in _RESULTS
    return isinstance(field_of(event, "observation"), str)


def is_of_sdk(event: Any) -> bool:
    """Whether it is an event of the agent SDK."""
    return isinstance(field_of(event, "kind"), str)


def tool_of(event: Any) -> str:
    if is_of_sdk(event):
        return text_of(field_of(event, "tool_name"))
    called = text_of(field_of(field_of(event, "tool_call_metadata"), "function_name"))
    return called or text_of(field_of(event, "action"))


def cause_of(event: Any) -> Any:
    """Return the id of the action that caused an observation; None if it names none."""
    return field_of(event, "action_id" if is_of_sdk(event) else "cause")


def reply_of(event: Any) -> Optional[str]:
    """Return the id of the model's reply that asked for an action."""
    response = field_of(field_of(event, "tool_call_metadata"), "model_response")
    return optional_text(field_of(event, "llm_response_id")) or optional_text(
        field_of(response, "id")
    )


class EventsBuilder(HistoryBuilder):
    """Collects calls and results, event by event."""

    def __init__(self) -> None:
        super().__init__("openhands")
        self._ids: Dict[str, Optional[str]] = {}
        self._reply: Optional[str] = None
        self._round = 0
        self._events = 0

    def add_event(self, event: Any) -> None:
        """Add one event; one that is neither call nor result nor the user's is passed over."""
        if _is_condensation(event):
            holder = event if is_of_sdk(event) else field_of(event, "args")
            self.add_summary(text_of(field_of(holder, "summary")))
        elif is_call(event):
            self._add_action(event)
        elif is_result(event):
            self._add_observation(event)
        elif tag_of(event, "source") == "agent":
            self.add_reply(_message_in(event))
        elif tag_of(event, "source") == "user":
            self._add_words_of_user(event)
        # Only an event that was caused by a call is a result of a tool.
        self._ids.setdefault(_named(field_of(event, "id")), None)
        self._events += 1

    def forget(self, before: int, heard: int = 0) -> int:
        """Remove calls before a step, now or later, and old ids."""
        keep_latest(self._ids)
        return super().forget(before, heard)

    def _add_action(self, event: Any) -> None:
        reply = reply_of(event)
        if reply is None or reply != self._reply:
            self._round = self._events
            self.add_thoughts(*_thoughts_of(event))
        self._reply = reply
        own = _named(field_of(event, "id"))
        call_id = _call_id(event) or own
        self._ids[own] = call_id
        self.add_call(tool_of(event), _arguments(event), call_id, self._round, time_of(event))

    def _add_observation(self, event: Any) -> None:
        call_id = self._call_id_of(event)
        if call_id is not None:
            self.add_result(_result(event), call_id, _tool_seen_in(event), time_of(event))

    def _call_id_of(self, event: Any) -> Optional[str]:
        """Find the call of an observation; one that nothing caused is the environment speaking."""
        cause = cause_of(event)
        if cause is not None and _named(cause) in self._ids:
            return self._ids[_named(cause)]
        is_tool = cause is not None and tag_of(event, "observation") not in _NO_TOOLS
        return _call_id(event) or (_named(cause) if is_tool else None)

    def _add_words_of_user(self, event: Any) -> None:
        if tag_of(event, "action") == "message" or tag_of(event, "kind") == "MessageEvent":
            self.add_user_message(_message_in(event))


def _is_condensation(event: Any) -> bool:
    """Whether an event says that earlier events are forgotten."""
    return "condensation" in (tag_of(event, "action"), tag_of(event, "kind").lower())


def _message_in(event: Any) -> str:
    """Return the text of a message event, empty for another event."""
    if tag_of(event, "action") == "message":
        return text_of(field_of(field_of(event, "args"), "content"))
    if tag_of(event, "kind") == "MessageEvent":
        return text_of(field_of(field_of(event, "llm_message"), "content"))
    return ""


def _thoughts_of(action: Any) -> List[str]:
    """Return what the model thought and said with an action; the format keeps both together."""
    holder = action if is_of_sdk(action) else field_of(action, "args")
    thought = texts_in(field_of(holder, "thought"))
    return texts_in(field_of(action, "reasoning_content")) + thought


def _named(event_id: Any) -> str:
    return f"event {text_of(event_id)}"


def _tool_seen_in(event: Any) -> str:
    """Name the tool of an observation, as far as it says."""
    seen = tool_of(event) or tag_of(event, "observation")
    return "" if seen == "error" else seen


def _call_id(event: Any) -> Optional[str]:
    holder = event if is_of_sdk(event) else field_of(event, "tool_call_metadata")
    return optional_text(field_of(holder, "tool_call_id"))


def _arguments(event: Any) -> Any:
    """Return the arguments as the model wrote them, or else as the action has them."""
    if is_of_sdk(event):
        written = field_of(field_of(event, "tool_call"), "arguments")
        given = field_of(event, "action")
    else:
        written = _written(field_of(event, "tool_call_metadata"))
        given = field_of(event, "args")
    if written is not None:
        return arguments_of(written)
    if not isinstance(given, Mapping):
        return arguments_of(given)
    return {name: value for name, value in plain(given).items() if name not in _NOISE}


def _written(metadata: Any) -> Any:
    """Find the call in the reply that is kept beside an action."""
    for choice in items_of(field_of(field_of(metadata, "model_response"), "choices")):
        for call in items_of(field_of(field_of(choice, "message"), "tool_calls")):
            if text_of(field_of(call, "id")) == text_of(field_of(metadata, "tool_call_id")):
                return field_of(field_of(call, "function"), "arguments")
    return None


def _result(event: Any) -> ToolResult:
    if not is_of_sdk(event):
        failed = tag_of(event, "observation") == "error" or field_of(event, "success") is False
        return ToolResult(text_of(field_of(event, "content")), failed)
    if tag_of(event, "kind") != "ObservationEvent":
        return ToolResult(text_of(filled_field(event, "error", "rejection_reason")), True)
    seen = field_of(event, "observation")
    content = filled_field(seen, "content", "output")
    return ToolResult(
        text_of(seen if content is None else content), field_of(seen, "is_error") is True
    )
