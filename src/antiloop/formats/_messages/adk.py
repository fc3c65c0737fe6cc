"""Google ADK: the events of a session."""

from bisect import bisect_right
from typing import Any, Iterable, List, Optional

from ..._amounts import moment_s
from ...stability import beta
from .._content import field_of, filled_field, flag_of, tag_of, time_of
from .._history import History
from .._history_builder import HistoryBuilder, has_forgotten
from .gemini import add_parts, call_in, parts_of, said_in, words_in


@beta
def from_adk(events: Iterable[Any], agent: Optional[str] = None) -> History:
    """Read the tool calls and results of an ADK session.

    See https://google.github.io/adk-docs/events/.

    Args:
        events: the session's events, oldest first, as they are or as JSON in either case of
            their names; anything else is skipped.
        agent: whose calls; None for those of all agents, which share a session.

    Returns:
        The calls with their results. The calls of one event are one round. Partial events, which
        streaming sends ahead, are left out. A call may be answered again, once it is approved or
        has taken its time; its last answer is its result. That ``error`` in a response means a
        failure is a convention which tools may break. A message with `is_summary` marks each place
        where compactions have taken away what the model knew, if nine calls or more came since the
        last one.

    >>> call = {"name": "ls", "args": {"path": "."}, "id": "c1"}
    >>> event = {"author": "finder", "content": {"parts": [{"functionCall": call}]}}
    >>> from_adk([event]).calls[0].arguments
    {'path': '.'}
    """
    history, context = HistoryBuilder(last_answer_counts=True), _Context()
    for index, event in enumerate(events):
        author, content = tag_of(event, "author"), field_of(event, "content")
        if flag_of(event, "partial"):
            continue
        context.compact(event)
        if author == "user":
            history.add_user_message(*said_in(content))
        if author != "user" and agent in (None, author):
            if context.forgot_before(event):
                history.add_summary()
            history.add_thoughts(*words_in(content, thoughts=True))
            history.add_reply(*words_in(content))
        if agent is None or author in (agent, "user"):
            # The user answers long-running calls, also those of agents that are not asked for.
            only_answers = author == "user"
            add_parts(history, content, index, only_answers=only_answers, at=time_of(event))
    return history.build()


def compaction_of(event: Any) -> Any:
    """Return what an event says of a compaction; None if it says nothing."""
    return field_of(field_of(event, "actions"), "compaction")


def held_calls(events: Iterable[Any]) -> List[float]:
    """Return the times of an agent's calls that no compaction has taken away, oldest first."""
    context = _Context()
    for event in events:
        context.compact(event)
        if tag_of(event, "author") != "user" and not flag_of(event, "partial"):
            context.forgot_before(event)
    return context.held


class _Context:
    """The calls of a session that compactions have left so far."""

    def __init__(self) -> None:
        self._made: List[float] = []
        """The time of each; times never go back."""
        self._gone = 0
        self._mark = 0

    @property
    def held(self) -> List[float]:
        return self._made[self._gone :]

    def compact(self, event: Any) -> None:
        """Take away what an event says that a compaction replaces: all up to a time."""
        until = moment_s(filled_field(compaction_of(event), "end_timestamp", "endTimestamp"))
        if until is not None:
            self._gone = max(self._gone, bisect_right(self._made, until))

    def forgot_before(self, reply: Any) -> bool:
        """Take up the calls of a reply; say whether the model had forgotten what came before."""
        calls = sum(call_in(part) is not None for part in parts_of(field_of(reply, "content")))
        made, latest = len(self._made), self._made[-1] if self._made else float("-inf")
        forgot = bool(calls) and has_forgotten(made, self._mark, made - self._gone)
        if forgot:
            self._mark = made
        at = time_of(reply)
        self._made += [latest if at is None else max(latest, at)] * calls
        return forgot
