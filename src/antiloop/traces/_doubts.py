"""Signs that a recording was not read as it was meant.

A format that is nearly known reads as a healthy run: without its calls, without their results, or
as many runs that are one. Nothing of that raises, so it is looked for, and reported.
"""

from dataclasses import dataclass
from typing import Any, Callable, Iterable, Iterator, List, Mapping, Tuple

from .._short_repr import quoted
from ..formats._internal import is_made_unique
from ..types import Role
from ._recorded_run import RecordedRun
from ._shared.listed_run import kind_of
from ._shared.records import Record

_FEWEST_REPLIES = 2  # a greeting and its answer is a chat, too
_LEVELS = 6
"""The depth in a value at which the blocks of messages are."""
_HOLDERS = ("messages", "contents", "message", "content", "parts", "payload", "history", "items")
_KNOWN = frozenset(
    """
    agent attachment audio cachepoint compaction container containerupload custom document
    dynamictool file finish functioncall functionresult functionresponse guardcontent image imageurl
    inputaudio inputfile inputimage inputtext outputtext patch reasoning redactedthinking
    redactedreasoning refusal retry searchresult snapshot sourcedocument sourceurl stepfinish
    stepstart subtask summarytext systemnotification text textreasoning think thinking tool
    toolconfirmationrequest toolinvocation toolreference video
    """.split()
)
_KNOWN_ENDINGS = (
    *("tooluse", "toolcall", "toolresult", "toolresponse", "toolrequest", "functioncall"),
    *("functioncalloutput", "functionresult", "functionapprovalrequest", "call", "calloutput"),
    *("functionapprovalresponse", "message", "event", "error"),
)


class Doubt(str):
    """A report that something may have been read wrong; a skipped part is another kind of report.

    >>> isinstance(Doubt("f:1: 3 replies"), str)
    True
    """

    __slots__ = ()


@dataclass
class Doubts:
    """Looks at the records and the runs of one file, and reports what is doubtful."""

    name: str
    report: Callable[[str], None]
    _before: Tuple[Any, ...] = ()

    def records(self, found: Iterable[Record]) -> Iterator[Record]:
        """Pass records on, and note the kinds of blocks in them that no reader knows."""
        for record in found:
            for kind in unknown_kinds(record.value):
                what = f"blocks of the type {quoted(kind)} are not understood"
                self._say(record.place(self.name), what)
            yield record

    def run(self, run: RecordedRun) -> None:
        replies = sum(each.role is Role.ASSISTANT and not each.is_thought for each in run.messages)
        if not run.calls and replies >= _FEWEST_REPLIES:
            self._say(run.source, f"{replies:,} replies, and no tool call that is understood")
        alone = sum(map(_is_without_call, run.calls))
        if alone:
            self._say(run.source, f"{alone:,} of {len(run.calls):,} results have no call here")
        unnamed = sum(map(is_made_unique, run.calls))
        if unnamed:
            what = f"{unnamed:,} of {len(run.calls):,} calls have neither a name nor arguments here"
            self._say(run.source, what)
        if self._goes_on(run):
            what = "the run begins with all calls of the run before it, as in a log of requests"
            self._say(run.source, what)

    def _goes_on(self, run: RecordedRun) -> bool:
        """Whether a run begins with all calls of the one before it, by their ids.

        Without ids, short runs look like the beginnings of others. If a file is read in pieces, the
        first run of each piece has none before it.
        """
        before, self._before = self._before, run.calls
        if not 0 < len(before) < len(run.calls) or not all(call.id for call in before):
            return False
        return run.calls[: len(before)] == before

    def _say(self, place: str, what: str) -> None:
        self.report(Doubt(f"{place}: {what}; it may be read wrong"))


def _is_without_call(call: Any) -> bool:
    """Whether only the result of a call was recorded."""
    given = call.arguments
    is_one = isinstance(given, Mapping) and len(given) == 1
    return is_one and next(iter(given)) == f"call {call.id}"


def unknown_kinds(value: Any) -> List[str]:
    """Return the types of blocks in messages that no reader knows.

    >>> unknown_kinds({"role": "assistant", "content": [{"type": "text"}, {"type": "tool_usage"}]})
    ['tool_usage']
    """
    return list(dict.fromkeys(_unknown_in(value, _LEVELS, is_block=False)))


def _unknown_in(value: Any, levels: int, *, is_block: bool) -> Iterator[str]:
    if isinstance(value, list):
        for item in value if levels else ():
            yield from _unknown_in(item, levels - 1, is_block=is_block)
    elif isinstance(value, dict):
        kind = kind_of(value)
        if is_block and kind:
            is_known = kind in _KNOWN or kind.endswith(_KNOWN_ENDINGS)
            if not is_known and not value["type"].startswith(("tool-", "data-")):
                yield value["type"]
            return
        is_message = isinstance(value.get("role"), str)
        for name in _HOLDERS if levels else ():
            inner = value.get(name)
            if isinstance(inner, (dict, list)):
                is_content = is_message and name in ("content", "parts")
                yield from _unknown_in(inner, levels - 1, is_block=is_content)
