"""A first look at an event: whether it can matter at all, without the engine.

The engine is asked where something may come of an event. Every detector of the presets ``default``
and ``escalating`` needs something that was there before: the call, its answer, most lines of it, or
one more failure. So a call that was never made, and an answer that is a plain success of which most
lines are new, are noted and nothing more, as long as no loop was found since the user spoke. The
engine sees them all when it is asked next, in their order, so its verdicts are the same.

Nothing heavy is imported here: a process is started for each call of a tool.
"""

from zlib import crc32

from ...loop_detection._internal import PROFILES, contains_any, is_plain_success
from .agents import AGENTS, may_finish
from .compact_json import UNREADABLE, dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Collection, Dict, List, Mapping, Optional

    from .session_state import SessionFile

    Sums = Dict[str, List[int]]

LATER = 40
"""The largest number of events that wait until the engine sees them."""
SUMS = "antiloop_sums"
"""The field of an event that waits with its checksums, so that they are made once."""

_KEPT = 400
_LINES = 4_000
_LONG = 1 << 16
_WRAPPED = (
    *("Chunk ID: ", "Wall time", "Original token count: ", "Process running with session ID "),
    *("Script running with cell ID ", "shellId: ", "Additional guidance from "),
    *("Background PIDs: ", "Process Group PGID: ", "untrusted_context>", "<hook_context>"),
    *("[Current working directory: ", "[Python interpreter: "),
    *("<system-reminder>", "[antiloop] "),
)
"""Parts of the texts that are wrapped around results; other texts need no regular expression."""
_SUCCEEDED = ("<completed with exit code 0>", "[The command completed with exit code 0.]")
"""The words of Copilot and OpenHands below the output of a command that has succeeded."""
_CALLS, _ENDED, _RESULTS, _SEEN_LINES = "calls", "ended", "results", "lines"


class SeenCalls:
    """The calls and answers seen in a session, as checksums.

    Args:
        file: the session's file; its field "seen" is what `to_dict` gave.
    """

    def __init__(self, name: str, file: "SessionFile", ignore: "Collection[str]") -> None:
        kept, profile = file.value.get("seen", {}), PROFILES[name]
        self._agent = AGENTS[name]
        self._ignore = {*profile["plans"], *ignore}
        self._wraps: List[str] = list(profile.get("wraps", ()))
        # Of any tool: to leave out too much has the engine asked once more.
        self._comments = {each.rpartition(".")[2] for each in profile.get("comments", ())}
        self._compaction: Collection[str] = profile.get("compaction_events", ())
        self._sums: Dict[str, Dict[int, None]] = {
            kind: dict.fromkeys(kept.get(kind, ()))
            for kind in (_CALLS, _ENDED, _RESULTS, _SEEN_LINES)
        }
        for each in file.later:
            self.note(each.get(SUMS) or self.sums_of(each))

    def to_dict(self) -> "Dict[str, List[int]]":
        return {kind: list(sums) for kind, sums in self._sums.items()}

    def sums_of(self, event: "Mapping[str, Any]") -> "Sums":
        """Return the checksums of an event: of its call, its result and the lines of that."""
        kind, call = event.get(self._agent.needs[0]), self._call_sum(event)
        calls = [] if call is None else [call]
        if kind == self._agent.before:
            return {_CALLS: calls}
        if kind not in self._agent.after:
            return {}
        text = self._text(event)
        if text is None:
            return {_ENDED: calls}
        return {_ENDED: calls, _RESULTS: [_sum(text)], _SEEN_LINES: _lines(text)}

    def is_nothing_new(self, event: "Mapping[str, Any]", sums: "Sums") -> bool:
        """Whether nothing can come of an event that has just come."""
        agent, kind = self._agent, event.get(self._agent.needs[0])
        # They end what counts as known, so nothing follows from them. The engine sees them later.
        if kind == agent.user or kind in self._compaction:
            return True
        calls = sums.get(_CALLS) or sums.get(_ENDED)
        if not calls:
            return False
        if event["tool_name"] in self._ignore:
            return True
        # A call that was made before may be part of a loop, which only the engine can tell.
        if self._known(_ENDED, calls):
            return False
        if kind == agent.before:
            return not self._known(_CALLS, calls)
        return self._is_new_success(event, sums)

    def note(self, sums: "Sums") -> None:
        """Take the checksums of an event into account."""
        for kind, latest in sums.items():
            seen, most = self._sums[kind], _LINES if kind == _SEEN_LINES else _KEPT
            for each in latest:
                seen.pop(each, None)
                seen[each] = None
            # The sums are read and written with each event, so they must stay few.
            while len(seen) > most:
                del seen[next(iter(seen))]

    def _is_new_success(self, event: "Mapping[str, Any]", sums: "Sums") -> bool:
        text, (_, is_error) = self._text(event), self._agent.given(event)
        if text is None or len(text) > _LONG:
            return False
        for words in _SUCCEEDED:  # any other code is for the engine, and so is a lack of output
            text = text.replace(words, "")
        if not is_plain_success(text, is_error):
            return False
        if may_finish(event["tool_name"]) or self._known(_RESULTS, sums[_RESULTS]):
            return False
        lines = sums[_SEEN_LINES]
        return 2 * self._known(_SEEN_LINES, lines) <= len(lines)

    def _known(self, kind: str, sums: "List[int]") -> int:
        """Count those that were seen before."""
        return sum(map(self._sums[kind].__contains__, sums))

    def _text(self, event: "Mapping[str, Any]") -> "Optional[str]":
        """Return a result without what is wrapped around it; None where it is more than text."""
        content, _ = self._agent.given(event)
        if not isinstance(content, str):
            return None
        if contains_any(content, _WRAPPED):
            import re

            for pattern in self._wraps:
                content = re.sub(pattern, "", content, flags=re.MULTILINE)
        return content

    def _call_sum(self, event: "Mapping[str, Any]") -> "Optional[int]":
        tool, arguments = event.get("tool_name"), event.get("tool_input")
        if not isinstance(tool, str) or not isinstance(arguments, (dict, str)):
            return None
        if isinstance(arguments, str):
            try:
                arguments = loads(arguments)
            except UNREADABLE:
                return None
        if isinstance(arguments, dict):
            arguments = {
                name: value for name, value in arguments.items() if name not in self._comments
            }
        return crc32(dumps([tool, arguments], sort_keys=True).encode("ascii"))


def _lines(text: str) -> "List[int]":
    return [_sum(line) for line in {each.strip() for each in text.splitlines()} if len(line) > 3]


class _Kinds(dict):  # type: ignore[type-arg]
    """A table for `str.translate`: digits become 0, what is not part of a word a space."""

    def __missing__(self, code: int) -> str:
        """Note a character that is seen for the first time."""
        character = chr(code)
        if not (character == "_" or character.isalnum()):
            character = " "
        self[code] = "0" if character.isdecimal() else character
        return self[code]


_KINDS = _Kinds()


def _sum(text: str) -> int:
    """Return a checksum of words; texts that differ in numbers and ids only have the same."""
    text = text.translate(_KINDS)
    words = text.split()
    if "0" in text:
        words = ["0" if "0" in word else word for word in words]
    return crc32(" ".join(words).encode("utf-8", "surrogatepass"))
