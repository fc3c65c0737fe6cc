"""OpenHands: its hooks, in the CLI, in the app and in programs that use its SDK."""

from typing import Any, Dict, Mapping

from ..formats.content import field_of, flag_of, text_of
from ..stability import beta
from ..types import ToolResult
from .hooks.hook_session import Decision
from .hooks.session_guard import SessionGuard


@beta
class LoopGuard(SessionGuard):
    """Answers the events of OpenHands' hooks; see `Lookout` for its arguments.

    Before a call (``PreToolUse``) it is refused if it belongs to a loop that is blocked. After the
    calls of a round (``PostToolUse`` of the last one) the round is judged. A refusal is all that
    the model of OpenHands can be reached, so there are no notices. No hook ends a run: where the
    policy is to stop or to raise, all calls are refused until the user speaks.
    """

    agent = "openhands"
    own_tools = ("think", "finish", "task_tracker")
    name = "event_type"
    can_end = False

    def result_of(self, event: Mapping[str, Any]) -> ToolResult:
        """Return the result in an event, as the model reads it."""
        response = event.get(self.result)
        content = field_of(response, "content")
        text = text_of(response if content is None else content)
        code = field_of(response, "exit_code")
        if code not in (None, 0):
            text = f"{text}\n[exit code {text_of(code)}]"
        return ToolResult(text, flag_of(response, "is_error"))

    def answered(self, event: Mapping[str, Any], decision: Decision) -> Dict[str, Any]:
        """Return a decision in the words of OpenHands."""
        return {"decision": "deny", "reason": decision.refusal} if decision.refusal else {}
