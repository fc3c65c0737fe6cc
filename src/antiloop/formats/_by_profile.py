"""A run as a client profile shows it: results without wraps, and a person's words alone."""

from dataclasses import replace

from ..loop_detection import ClientProfile
from ..types import Role
from ._history import History
from ._moment import KnownRun
from ._text_message import TextMessage


def known_by(profile: ClientProfile, run: KnownRun) -> History:
    """Return a run as the profile of its client shows it.

    A profile that is applied twice changes nothing the second time.
    """
    results = (each and replace(each, text=profile.unwrapped(each.text)) for each in run.results)
    messages = tuple(_said(each, profile) for each in run.messages)
    before, after = (
        {each.position for each in said if each.role is Role.USER}
        for said in (run.messages, messages)
    )
    turns = (start for start in run.turn_starts if start in after or start not in before)
    return History(tuple(run.calls), tuple(results), tuple(turns), messages)


def _said(message: TextMessage, profile: ClientProfile) -> TextMessage:
    if message.role is not Role.USER or not profile.is_of_host(message.text):
        return message
    is_summary = profile.shows_compaction(message.text)
    return replace(message, role=Role.SYSTEM, is_summary=is_summary)
