"""Codex CLI: its hooks, which ask in the words of Claude Code."""

from ..stability import stable
from ._hooks.session_guard import SessionGuard

__all__ = ["LoopGuard"]


@stable
class LoopGuard(SessionGuard):
    """Answers the events of Codex's hooks; see `Lookout` for its arguments.

    Before a call (``PreToolUse``) it is refused if it belongs to a loop that is blocked. After the
    calls of a round (``PostToolUse`` of the last one) the round is judged, and a notice is given as
    additional context. Codex lets no hook end a turn: where the policy is to stop or to raise, the
    model reads so and all calls are refused until the user speaks.
    """

    _agent = "codex"
    _can_end = False
