"""Copilot CLI: its hooks, asked in the snake case that Copilot offers beside its own."""

from typing import Any, Dict, Mapping

from ..formats.content import field_of, text_of
from ..stability import beta
from ..types import ToolResult
from .hooks.hook_session import Decision
from .hooks.session_guard import SessionGuard

_SUCCESS = "success"


@beta
class LoopGuard(SessionGuard):
    """Answers the events of Copilot CLI's hooks; see `Lookout` for its arguments.

    Before a call (``PreToolUse``) it is refused if it belongs to a loop that is blocked. After the
    calls of a round (``PostToolUse``, or ``PostToolUseFailure``, of the last one) the round is
    judged, and a notice is added to the result. Copilot lets no hook end a run: where the policy is
    to stop or to raise, the model reads so and all calls are refused until the user speaks.
    """

    agent = "copilot"
    own_tools = ("report_intent", "update_todo", "ask_user", "exit_plan_mode", "task_complete")
    can_end = False

    def result_of(self, event: Mapping[str, Any]) -> ToolResult:
        """Return the result in an event, as the model reads it."""
        if event.get("error") is not None:
            return super().result_of(event)
        result = event.get("tool_result")
        kind = field_of(result, "result_type")
        text = text_of(field_of(result, "text_result_for_llm"))
        return ToolResult(text, is_error=kind not in (None, _SUCCESS))

    def answered(self, event: Mapping[str, Any], decision: Decision) -> Dict[str, Any]:
        """Return a decision in the words of Copilot."""
        if decision.refusal:
            return {"permissionDecision": "deny", "permissionDecisionReason": decision.refusal}
        words = decision.notice or decision.end
        return {"additionalContext": words} if words else {}
