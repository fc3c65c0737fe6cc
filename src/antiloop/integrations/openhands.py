"""OpenHands: its hooks, in the CLI, in the app and in programs that use its SDK."""

from typing import Any, Dict, Mapping

from ..stability import stable
from ._hooks.hook_session import Decision
from ._hooks.session_guard import SessionGuard

__all__ = ["LoopGuard"]


@stable
class LoopGuard(SessionGuard):
    """Answers the events of OpenHands' hooks; see `Lookout` for its arguments.

    Before a call (``PreToolUse``) it is refused if it belongs to a loop that is blocked. After the
    calls of a round (``PostToolUse`` of the last one) the round is judged. A refusal is all that
    the model of OpenHands can be reached, so there are no notices. No hook ends a run: where the
    policy is to stop or to raise, all calls are refused until the user speaks.
    """

    _agent = "openhands"
    _can_end = False

    def _in_own_words(self, event: Mapping[str, Any], decision: Decision) -> Dict[str, Any]:
        """Return a decision in the words of OpenHands."""
        return {"decision": "deny", "reason": decision.refusal} if decision.refusal else {}
