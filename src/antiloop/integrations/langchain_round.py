"""The latest round of a LangChain conversation: a reply, and all that came after it."""

from dataclasses import replace
from itertools import takewhile
from typing import Any, List, Optional

from ..formats import History, from_langchain
from ..formats.content import text_of
from ..formats.messages.langchain import calls_of, kind_of


def last_round(messages: List[Any]) -> List[Any]:
    """Return the last reply and all that came after it; nothing if it asks for no tool.

    A tool may add a user's message, such as a picture; it does not end the round.
    """
    for position in range(len(messages) - 1, -1, -1):
        if kind_of(messages[position]) == "ai":
            return messages[position:] if calls_of(messages[position]) else []
    return []


def id_of(together: List[Any]) -> Optional[str]:
    """Return the id of the reply; None if there is none."""
    return together[0].id if together else None


def read(together: List[Any]) -> History:
    """Read a round; what tools show as messages of the user is part of what they gave."""
    history = from_langchain(together)
    shown = [text_of(each.content) for each in together if kind_of(each) == "human"]
    results = (
        given and replace(given, text="\n".join([given.text, *shown])) for given in history.results
    )
    return replace(history, results=tuple(results))


def pending_in(together: List[Any]) -> List[Any]:
    """Return the calls without an answer."""
    answered = {message.tool_call_id for message in together if kind_of(message) == "tool"}
    calls = together[0].tool_calls if together else []
    return [call for call in calls if call["id"] not in answered]


def user_spoke(messages: List[Any]) -> bool:
    """Whether the user has spoken since the last reply or result."""
    latest = takewhile(lambda kind: kind not in ("ai", "tool"), map(kind_of, messages[::-1]))
    return "human" in latest
