"""opencode: what its plugin asks, in words that the two agree on."""

from typing import Any, Dict, Mapping

from ..stability import stable
from ._hooks.hook_session import Decision
from ._hooks.session_guard import SessionGuard

__all__ = ["LoopGuard"]


@stable
class LoopGuard(SessionGuard):
    """Answers the plugin for opencode; see `Lookout` for its arguments.

    Before a call (``tool.execute.before``) it is refused if it belongs to a loop that is blocked.
    After the calls of a round (``tool.execute.after`` of the last one) the round is judged, and a
    notice is added to the result. Nothing can be added to an error: then the notice follows the
    next result, or the first refusal stands for it. At ``stop`` and ``raise`` the model reads why,
    and all calls are refused until the user speaks; if it goes on calling, the run ends.
    """

    _agent = "opencode"
    _untold = ("PostToolUseFailure",)

    def _in_own_words(self, event: Mapping[str, Any], decision: Decision) -> Dict[str, Any]:
        """Return a decision in the words of the plugin."""
        return {name: words for name, words in decision._asdict().items() if words}
