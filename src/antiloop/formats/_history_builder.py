"""Collecting what every format is read into."""

import re
from dataclasses import replace
from itertools import takewhile
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

from .._short_repr import quoted, short_repr
from ..loop_detection import ClientProfile
from ..loop_detection._internal import NOTICE_MARKER
from ..stability import beta
from ..types import Role, ToolCall, ToolResult
from ._content import arguments_of, field_of, optional_text, text_of
from ._growing_history import GrowingHistory, keep_latest
from ._history import TextMessage, round_of_unseen, unlike_others

# Where an API takes no system message in a conversation, a tag tells the model who speaks.
_NOTICE = re.compile(r"\s*(?:<system-(?:notice|reminder)>\s*)?" + re.escape(NOTICE_MARKER))
_NO_CLIENT = ClientProfile("")
_FORGOTTEN_CALLS = 9
"""Calls between two times that a model forgets: three laps of three calls are found in between."""


@beta
class HistoryBuilder(GrowingHistory):
    """Collect calls and results in the order of the messages, and pair them.

    Ids join a result to its call. They are not trusted further than that: some providers leave
    them out, some use them again, so a result goes to the *latest* unanswered call that it fits,
    and among parallel calls to the first. A result whose call was never seen, as in a conversation
    that was cut, makes a call of which only that is known; a further answer to a call is dropped.

    Args:
        client: the name of a `ClientProfile`, which knows the texts in the user's place that no
            person wrote.
        last_answer_counts: take a further answer to a call in place of the one before.
    """

    def __init__(self, client: Optional[str] = None, *, last_answer_counts: bool = False) -> None:
        super().__init__()
        self.client = client
        self._profile = ClientProfile.named(client) if client else _NO_CLIENT
        self._last_answer_counts = last_answer_counts
        self._open: Dict[Optional[str], List[int]] = {}
        self._answered: Dict[Optional[str], int] = {}

    def __repr__(self) -> str:
        return short_repr(self, *([] if self.client is None else [quoted(self.client)]))

    def add_call(
        self,
        tool_name: str,
        arguments: Union[Mapping[str, object], str, None],
        call_id: Optional[str],
        round: int,  # noqa: A002 - the word for it everywhere in this library
        started_at: Optional[float] = None,
    ) -> None:
        """Add one call of the model reply ``round``."""
        # To the end, so that an id that is used again is not among the first that are forgotten.
        waiting = self._open.pop(call_id, [])
        waiting.append(len(self.calls))
        self._open[call_id] = waiting
        self.add(ToolCall(tool_name, arguments, call_id, round, started_at))

    def add_result(
        self,
        result: ToolResult,
        call_id: Optional[str],
        tool_name: Optional[str] = None,
        ended_at: Optional[float] = None,
    ) -> None:
        """Add one result.

        Args:
            result: what came back.
            call_id: of the call.
            tool_name: helps where the message names the tool, not the call.
            ended_at: when it came; says how long the call took where the result does not.
        """
        answer = (result, call_id, tool_name, ended_at)
        if not self.answer(*answer) and self._is_unseen(call_id, tool_name):
            self._add_unseen(call_id, tool_name or "")
            self.answer(*answer)

    def answer(
        self,
        result: ToolResult,
        call_id: Optional[str],
        tool_name: Optional[str] = None,
        ended_at: Optional[float] = None,
    ) -> bool:
        """Add one result if a call waits for it, and say whether one did."""
        index = self._first_of_latest_round(call_id) if call_id else None
        if index is None:
            index = self._loose_match(call_id, tool_name)
        if index is not None:
            self._open[self.calls[index].id].remove(index)
        elif self._last_answer_counts:
            index = self._answered.get(call_id)
        if index is None:
            return False
        plain = replace(result, text=self._profile.unwrapped(_without_notice(result.text)))
        self.results[index] = timed(plain, self.calls[index], ended_at)
        if call_id:
            self._answered[call_id] = index
        return True

    def add_user_message(self, *texts: str) -> None:
        """Note that the user spoke here, unless no person wrote any of the ``texts``."""
        if any(map(self._profile.shows_compaction, texts)):
            self.add_summary(*texts)
            return
        said = [
            each for each in texts if not (_NOTICE.match(each) or self._profile.is_of_host(each))
        ]
        if said:
            self.turn_starts.append(len(self))
        self._add_message(Role.USER if said else Role.SYSTEM, "\n".join(said or texts))

    def add_summary(self, *texts: str) -> None:
        """Note that the model no longer sees what came before, and what it sees in its place."""
        latest = self.messages[-1] if self.messages else None
        if latest is not None and latest.is_summary and latest.position == len(self):
            # Clients say it twice: that it happens, and with which summary.
            texts = (*filter(None, [latest.text]), *texts)
            self.messages.pop()
        summary = TextMessage(Role.SYSTEM, "\n".join(texts), len(self), is_summary=True)
        self.messages.append(summary)

    def add_reply(self, *texts: str, position: Optional[int] = None) -> None:
        """Note what the model said, before the calls of the same reply.

        Args:
            texts: what it said.
            position: number of calls before it; by default all added calls.
        """
        self._add_message(Role.ASSISTANT, "\n".join(texts), position)

    def add_thoughts(self, *texts: str, position: Optional[int] = None) -> None:
        """Note what the model thought before its reply; the arguments are those of `add_reply`."""
        self._add_message(Role.ASSISTANT, "\n".join(texts), position, is_thought=True)

    def forget(self, before: int, heard: int = 0) -> int:
        """Remove calls before a step, now or later, and old ids; steps keep their numbers."""
        count = super().forget(before, heard)
        if count:
            keep_latest(self._open)
            keep_latest(self._answered)
            for waiting in self._open.values():
                waiting[:] = [index - count for index in waiting if index >= count]
            self._answered = {
                call_id: index - count
                for call_id, index in self._answered.items()
                if index >= count
            }
        return count

    def _is_unseen(self, call_id: Optional[str], tool_name: Optional[str]) -> bool:
        """Whether a result is of a call that did not stand here, and no second answer to one."""
        if call_id:
            return call_id not in self._open
        latest = takewhile(lambda call: call.round == self.calls[-1].round, self.calls[::-1])
        return tool_name is not None and all(call.tool_name != tool_name for call in latest)

    def _add_unseen(self, call_id: Optional[str], tool_name: str) -> None:
        place = f"call {call_id}" if call_id else f"step {len(self)}"
        call = unlike_others(ToolCall(tool_name), place)
        has_turn = len(self) in self.turn_starts[-1:]
        round_ = round_of_unseen(self.calls, [len(self.calls)] * has_turn)
        self.add_call(call.tool_name, call.arguments, call_id, round_)

    def _first_of_latest_round(self, call_id: str) -> Optional[int]:
        waiting = self._open.get(call_id)
        if not waiting:
            return None
        if len(waiting) == 1:
            return waiting[0]
        latest = self.calls[waiting[-1]].round
        return next(index for index in waiting if self.calls[index].round == latest)

    def _loose_match(self, call_id: Optional[str], tool_name: Optional[str]) -> Optional[int]:
        """Match where one side has no id: only in the latest round, by name or by order."""
        found = None
        for index in range(len(self.calls) - 1, -1, -1):
            call = self.calls[index]
            if call.round != self.calls[-1].round:
                break
            if self.results[index] is not None or (call_id and call.id):
                continue
            if tool_name in (None, call.tool_name):
                found = index
        return found


def add_call_in(
    history: HistoryBuilder,
    holder: Any,
    fields: Tuple[str, str, str],
    round_: int,
    at: Optional[float] = None,
) -> None:
    """Add the call whose tool, arguments and id an object holds in these fields."""
    tool, arguments, call_id = (field_of(holder, name) for name in fields)
    history.add_call(text_of(tool), arguments_of(arguments), optional_text(call_id), round_, at)


def _without_notice(text: str) -> str:
    """Return a result without the notice that a guard has put below it."""
    place = text.find(f"\n\n{NOTICE_MARKER}")
    return text if place < 0 else text[:place]


def timed(result: ToolResult, call: ToolCall, ended_at: Optional[float]) -> ToolResult:
    """Return a result with the time that its call took, where that is known."""
    if result.duration_s is not None or ended_at is None or call.started_at is None:
        return result
    return replace(result, duration_s=max(0.0, ended_at - call.started_at))


def has_forgotten(made: int, mark: int, held: int) -> bool:
    """Say whether a model has forgotten what came before, since it last forgot something.

    A summary takes messages away at once, a window one by one. Once the conversation holds no call
    from before a mark, all of them are forgotten. A conversation of which hardly anything is kept
    is not forgotten each time, or no loop would ever be found in it.

    Args:
        made: how many calls were made.
        mark: how many calls were made when this last said yes; 0 at the beginning.
        held: how many calls the conversation still holds.
    """
    since = made - mark
    return since >= _FORGOTTEN_CALLS and held <= since and held < made
