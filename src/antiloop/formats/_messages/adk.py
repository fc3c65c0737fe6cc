"""Google ADK: the events of a session."""

from typing import Any, Iterable, Optional

from ...stability import beta
from .._content import field_of, flag_of, tag_of
from .._history import History
from .._history_builder import HistoryBuilder
from .gemini import add_parts, words_in


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
        failure is a convention which tools may break.

    >>> call = {"name": "ls", "args": {"path": "."}, "id": "c1"}
    >>> event = {"author": "finder", "content": {"parts": [{"functionCall": call}]}}
    >>> from_adk([event]).calls[0].arguments
    {'path': '.'}
    """
    history = HistoryBuilder(last_answer_counts=True)
    for index, event in enumerate(events):
        author, content = tag_of(event, "author"), field_of(event, "content")
        if flag_of(event, "partial"):
            continue
        if author == "user":
            history.add_user_message(*words_in(content))
        if author != "user" and agent in (None, author):
            history.add_thoughts(*words_in(content, thoughts=True))
            history.add_reply(*words_in(content))
        if agent is None or author in (agent, "user"):
            # The user answers long-running calls, also those of agents that are not asked for.
            add_parts(history, content, index, only_answers=author == "user")
    return history.build()
