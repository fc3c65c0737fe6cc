"""The last request to a model, for hooks that receive only what came after it."""

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence

from ...formats.content import field_of
from ...formats.messages.openai_responses import is_call, is_result
from ...latest import Latest

_KEPT_FIRST_CALLS = 1000

# Tasks that are begun after a request inherit it.
_LAST: ContextVar[Optional["LastRequest"]] = ContextVar("antiloop_last_request", default=None)


@dataclass
class LastRequest:
    """What is known of a run from its last request to the model on; in OpenAI Responses items."""

    agent: str
    """Who asked."""
    items: Sequence[Any]
    """The conversation that the model was sent."""
    calls: Dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """What the model asked for then, by id."""
    kept: Sequence[Any] = ()
    """What else was in the reply: what it said, and calls that the provider has run."""

    def followed_by(self, results: Iterable[Any]) -> List[Any]:
        """Return the conversation, followed by the calls made since and their results."""
        return [*self.items, *self.kept, *self.calls.values(), *results]


class LastRequests:
    """Finds the last request of a run, in all runs of a process at the same time."""

    def __init__(self) -> None:
        self._first_calls: Latest[str, LastRequest] = Latest(_KEPT_FIRST_CALLS)

    def now(self, agent: str) -> Optional[LastRequest]:
        """Return the last request here, unless another agent made it."""
        last = _LAST.get()
        return last if last and last.agent == agent else None

    def begin(self, agent: str, items: Sequence[Any]) -> LastRequest:
        """Note a request, and return it."""
        last = LastRequest(agent, items)
        _LAST.set(last)
        return last

    def note(self, call: Mapping[str, Any], last: LastRequest) -> None:
        """Note a call that the model asks for."""
        last.calls[call["call_id"]] = call
        if any(map(is_call, last.items)):
            return
        # The first turn of a run is a separate task; the next turn does not see what it sets.
        # What was said before contains no calls, and may be large.
        self._first_calls[call["call_id"]] = LastRequest(last.agent, (), last.calls, last.kept)

    def whole(self, items: Sequence[Any]) -> Sequence[Any]:
        """Return the whole conversation; if a server keeps it, the items are only the new ones."""
        answered = [field_of(item, "call_id") for item in items if is_result(item)]
        first = [self._first_calls.pop(call_id, None) for call_id in answered]
        if not any(map(is_call, items)):
            for last in (_LAST.get(), *first):
                if last and not last.calls.keys().isdisjoint(answered):
                    return last.followed_by(items)
        return items
