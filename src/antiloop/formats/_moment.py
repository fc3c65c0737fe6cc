"""The moments of a run, in order: rounds, and the messages between them."""

from dataclasses import replace
from typing import Iterator, Optional, Protocol, Sequence, Tuple, Union

from ..loop_detection import ClientProfile, LoopAction, LoopMonitor, LoopVerdict
from ..loop_detection._internal import GO_ON
from ..types import Role, ToolCall, ToolResult
from ._history import History, TextMessage, rounds_of, without_thoughts

Moment = Union[TextMessage, Tuple[int, int]]
"""A message, or the start and stop of a round as for a slice."""


class KnownRun(Protocol):
    """The calls, results and messages of a run, e.g. a `History` or a recorded run."""

    @property
    def calls(self) -> Sequence[ToolCall]: ...
    @property
    def results(self) -> Sequence[Optional[ToolResult]]: ...
    @property
    def turn_starts(self) -> Sequence[int]: ...
    @property
    def messages(self) -> Sequence[TextMessage]: ...


def moments_of(run: KnownRun) -> Iterator[Moment]:
    """Yield rounds and messages in their order, without thoughts.

    A turn of the user without known text becomes a message without text. A user message in the
    middle of a round does not begin a turn and is left out.
    """
    spoken, waiting = set(run.turn_starts), without_thoughts(reversed(run.messages))
    for start, stop in rounds_of(run.calls):
        has_text = False
        while waiting and waiting[-1].position <= start:
            said = waiting.pop()
            is_user = said.role is Role.USER
            has_text = has_text or (is_user and said.position == start)
            if not is_user or said.position == start:
                yield said
        if start in spoken and not has_text:
            yield TextMessage(Role.USER, "", start)
        yield start, stop
    yield from reversed(waiting)


def verdict_at(monitor: LoopMonitor, run: KnownRun, moment: Moment) -> LoopVerdict:
    """Pass a moment to a monitor, and return the verdict."""
    if not isinstance(moment, TextMessage):
        start, stop = moment
        return monitor.after(run.calls[start:stop], run.results[start:stop])
    if moment.is_summary:
        monitor.forgot()
    if moment.role is Role.ASSISTANT:
        return monitor.said(moment.text)
    if moment.role is Role.USER:
        monitor.user_message(moment.text)
    return GO_ON


def verdicts_of(monitor: LoopMonitor, run: KnownRun) -> Iterator[Tuple[int, LoopVerdict]]:
    """Pass a whole run to a monitor, and yield its verdicts with their steps."""
    for moment in moments_of(run):
        verdict = verdict_at(monitor, run, moment)
        if verdict.action is not LoopAction.CONTINUE:
            yield step_of(moment), verdict


def step_of(moment: Moment, since: int = 0) -> int:
    """Return the step of a moment: the last one of its round, or the last before it.

    A message before any call is at step 0.

    Args:
        moment: the round or message.
        since: how many calls of the run were left out.
    """
    last = moment.position if isinstance(moment, TextMessage) else moment[1]
    return max(0, since + last - 1)


def read_by(profile: ClientProfile, run: KnownRun) -> History:
    """Return a run as the profile of its client reads it.

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
