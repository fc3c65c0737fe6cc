"""Google ADK sessions: a list of events, or a session that holds one as ``events``."""

from typing import Any

from ...formats import from_adk
from ...formats.content import field_of, text_of
from ..shared.conversation import ConversationFormat
from .gemini import gemini_usage

_OWN_KEYS = ("invocationId", "invocation_id")


def _is_event(event: Any) -> bool:
    return isinstance(event, dict) and "author" in event


def _is_own(event: Any) -> bool:
    return _is_event(event) and any(key in event for key in _OWN_KEYS)


def _agent(event: Any) -> str:
    author = text_of(field_of(event, "author"))
    return "" if author == "user" else author


_FORMAT = ConversationFormat(
    ("events",),
    _is_event,
    _is_own,
    from_adk,
    "no ADK events here",
    gemini_usage,
    agent=_agent,
)
recognizes, read = _FORMAT.recognizes, _FORMAT.read
