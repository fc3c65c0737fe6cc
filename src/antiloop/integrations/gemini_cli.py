"""Gemini CLI: its hooks, with their own names and answers."""

from typing import Any, Dict, Mapping

from ..formats._internal import field_of, text_of
from ..stability import stable
from ._hooks.hook_session import Decision, ended, specific
from ._hooks.session_guard import SessionGuard

__all__ = ["LoopGuard"]


@stable
class LoopGuard(SessionGuard):
    """Answers the events of Gemini CLI's hooks; see `Lookout` for its arguments.

    Before a call (``BeforeTool``) it is refused if it belongs to a loop that is blocked. After the
    calls of a round (``AfterTool`` of the last one) the round is judged, and a notice is added to
    the result. At ``stop`` and ``raise`` the model reads why, and all calls are refused until the
    user speaks; if it goes on calling, the run ends.
    """

    _agent = "gemini-cli"
    _shares_session = True

    def _in_own_words(self, event: Mapping[str, Any], decision: Decision) -> Dict[str, Any]:
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
            return specific("AfterTool", additionalContext=notice)
        # The model reads the message of an error and nothing that is added to it.
        message = text_of(field_of(error, "message"))
        return {"decision": "deny", "reason": f"{message}\n\n{notice}"}
