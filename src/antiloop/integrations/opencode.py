"""opencode: what its plugin asks, in words that the two agree on."""

from typing import Any, Dict, Mapping

from ..stability import beta
from .hooks.hook_session import Decision
from .hooks.session_guard import SessionGuard


@beta
class LoopGuard(SessionGuard):
    """Answers the plugin for opencode; see `Lookout` for its arguments.

    Before a call (``tool.execute.before``) it is refused if it belongs to a loop that is blocked.
    After the calls of a round (``tool.execute.after`` of the last one) the round is judged: a
    notice is added to the result, or the run ends. ``raise`` ends it like ``stop``.
    """

    agent = "opencode"
    own_tools = ("todowrite", "todoread", "question", "skill", "plan_enter", "plan_exit")

    def answered(self, event: Mapping[str, Any], decision: Decision) -> Dict[str, Any]:
        """Return a decision in the words of the plugin."""
        return {name: words for name, words in decision._asdict().items() if words}
