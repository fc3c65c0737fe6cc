"""Copilot CLI: its hooks, asked in the snake case that Copilot offers beside its own."""

from typing import Any, Dict, Mapping

from ..stability import stable
from ._hooks.hook_session import Decision
from ._hooks.session_guard import SessionGuard

__all__ = ["LoopGuard"]


@stable
class LoopGuard(SessionGuard):
    """Answers the events of Copilot CLI's hooks; see `Lookout` for its arguments.

    Before a call (``PreToolUse``) it is refused if it belongs to a loop that is blocked. After the
    calls of a round (``PostToolUse``, or ``PostToolUseFailure``, of the last one) the round is
    judged, and a notice is added to the result. Copilot lets no hook end a run: where the policy is
    to stop or to raise, the model reads so and all calls are refused until the user speaks.
    """

    _agent = "copilot"
    _can_end = False

    def _in_own_words(self, event: Mapping[str, Any], decision: Decision) -> Dict[str, Any]:
        """Return a decision in the words of Copilot."""
        if decision.refusal:
            return {"permissionDecision": "deny", "permissionDecisionReason": decision.refusal}
        return {"additionalContext": decision.notice} if decision.notice else {}
