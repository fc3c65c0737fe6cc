"""A guard of requests that remembers conversations, to judge only what is new in the next one."""

from typing import Any, List, Optional, Sequence

from ..formats import History
from ..formats.text_message import without_thoughts
from ..formats.unrecorded import is_unlike_others
from ..loop_detection import LoopAction, LoopMonitor, LoopVerdict
from ..loop_detection.evidence.textless import Missed, forget_texts
from ..loop_detection.verdict import GO_ON
from ..stability import beta
from .guard import Guard
from .shared.known_conversations import Known, KnownConversations, Place
from .shared.request_forms import Request


@beta
class RememberingGuard(Guard):
    """Judge a request by what is remembered of its conversation, where that is certain.

    It is certain only that nothing is found. A finding, and a comparison that needs a text of
    earlier calls, are left to a replay of the whole conversation, so the answers are those of a
    guard without memory.
    """

    remembered_calls = 0
    """The most calls that are remembered of all conversations together."""
    _conversations: Optional[KnownConversations] = None

    @property
    def conversations(self) -> KnownConversations:
        """What is remembered."""
        known = self._conversations
        if known is None or known.detector is not self.detector:
            known = KnownConversations(self.detector, self.remembered_calls)
            self._conversations = known
        return known

    def places(self, kind: str, messages: Sequence[Any]) -> List[Place]:
        """Return up to where the conversation of a request may be known, the whole of it first."""
        name = repr((kind, self.across_turns, sorted(self._ignored)))
        return self.conversations.places(name, messages)

    def known_verdict(self, request: Request) -> Optional[LoopVerdict]:
        """Return the verdict on a request if it is certain that nothing is found, None if not."""
        start, known = self.conversations.take(request.places)
        if known is None:
            return None
        if start == len(request.messages):
            return known.verdict
        later = request.form.read(request.messages[start:])
        calls = self._calls_after(known, later)
        if not len(later) or calls is None:
            return None
        verdict = self.replay(known.monitor, later)
        if is_found(verdict) or block_of(known.monitor, later) is not GO_ON:
            return None
        if known.missed.has_happened or known.monitor.speech.has_found:
            return None
        if _is_complete(later):
            self._keep(request, Known(known.monitor, known.missed, calls, verdict))
        return verdict

    def note(self, request: Request, monitor: LoopMonitor, quiet: Optional[LoopVerdict]) -> None:
        """Remember the conversation of a request that was judged as a whole.

        Args:
            request: which.
            monitor: the monitor that has seen it, which has no other use any more.
            quiet: the verdict on its last round, if nothing was found.
        """
        turn = request.turn
        # Words count only in the last replies of a conversation, so findings about them pass.
        if request.places and not monitor.speech.has_found and _is_complete(turn):
            self._keep(request, Known(monitor, Missed(), len(turn), quiet))

    def _keep(self, request: Request, known: Known) -> None:
        forget_texts(known.monitor.window, known.missed)
        known.monitor.reported.forget_texts()
        self.conversations.keep(request.places[0], known)

    def _calls_after(self, known: Known, later: History) -> Optional[int]:
        """Return how many calls the turn has by now; None if a replay would begin elsewhere."""
        if any(map(is_unlike_others, later.calls)):
            return None  # a result that may belong to an earlier call
        if later.turn_starts and not self.across_turns:
            return len(later.last_turn()) or None
        calls = known.calls + len(later)
        begins = self.skipped_calls(known.calls) == self.skipped_calls(calls)
        return calls if begins else None


def block_of(monitor: LoopMonitor, history: History) -> LoopVerdict:
    """Return the block that the last round of a history ignores; go on if there is none."""
    verdicts = [monitor.before(call) for call in history.last_round().calls]
    return next((each for each in verdicts if each.action is LoopAction.BLOCK), GO_ON)


def is_found(verdict: LoopVerdict) -> bool:
    """Whether a verdict is about a loop, and something is to be done about it."""
    return verdict.reported.action is not LoopAction.CONTINUE


def _is_complete(history: History) -> bool:
    """Whether nothing that comes later belongs to the rounds of a history."""
    has_words = any(each.position >= len(history) for each in without_thoughts(history.messages))
    return not has_words and None not in history.results
