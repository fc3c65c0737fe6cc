"""Gemini CLI: its hooks, with their own names and answers."""

from typing import Any, Dict, Mapping

from ..formats.content import field_of, text_of
from ..stability import beta
from ..types import ToolResult
from .hooks.hook_answers import ended, specific
from .hooks.hook_session import Decision
from .hooks.session_guard import SessionGuard


@beta
class LoopGuard(SessionGuard):
    """Answers the events of Gemini CLI's hooks; see `Lookout` for its arguments.

    Before a call (``BeforeTool``) it is refused if it belongs to a loop that is blocked. After the
    calls of a round (``AfterTool`` of the last one) the round is judged: a notice is added to the
    result, or the run ends. ``raise`` ends it like ``stop``.
    """

    agent = "gemini-cli"
    own_tools = (
        *("write_todos", "ask_user", "enter_plan_mode", "exit_plan_mode", "activate_skill"),
        *("update_topic", "complete_task"),
    )
    before, after, user = "BeforeTool", ("AfterTool",), "BeforeAgent"

    def result_of(self, event: Mapping[str, Any]) -> ToolResult:
        """Return the result in an event, as the model reads it."""
        response = event.get("tool_response")
        text = text_of(field_of(response, "llmContent"))
        return ToolResult(text, is_error=field_of(response, "error") is not None)

    def answered(self, event: Mapping[str, Any], decision: Decision) -> Dict[str, Any]:
        """Return a decision in the words of Gemini CLI."""
        if decision.notice:
            return self._with_notice(event, decision.notice)
        answer = ended(decision.end) if decision.end else {}
        if decision.refusal:
            answer.update(decision="deny", reason=decision.refusal)
        return answer

    def _with_notice(self, event: Mapping[str, Any], notice: str) -> Dict[str, Any]:
        error = field_of(event.get("tool_response"), "error")
        if error is None:
            return specific(self.after[0], additionalContext=notice)
        # The model reads the message of an error and nothing that is added to it.
        message = text_of(field_of(error, "message"))
        return {"decision": "deny", "reason": f"{message}\n\n{notice}"}
