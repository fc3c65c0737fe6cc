"""The end of a Claude Code transcript, and whether a hook's event can matter at all.

Nothing heavy is imported here: a process is started for each call of a tool, and nearly all of
them have nothing to say.
"""

from ..._regular_file import opener
from ...loop_detection._internal import is_plain_success
from .agents import may_finish
from .compact_json import UNREADABLE, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Collection, Dict, Iterator, List, Tuple

CALLS = 200
"""The least number of calls that are read, where there are as many: four windows full."""
BYTES = 8 << 20
"""The largest number of bytes that are read."""

_BLOCK = 1 << 18
_CALL, _RESULT = b'"tool_use"', b'"tool_result"'
_ESCAPED = b"\"\\/<>&'"  # by one writer of JSON or another
_RUNS = bytes(code if 32 <= code < 127 and code not in _ESCAPED else 10 for code in range(256))
_TELLING = 2_000  # characters of a text in which something to look for is sought


def transcript_of(event: "Dict[str, Any]") -> str:
    """Return the path of the transcript of the agent that makes this call."""
    path: str = event["transcript_path"]
    agent = event.get("agent_id")
    return f"{path[: -len('.jsonl')]}/subagents/agent-{agent}.jsonl" if agent else path


def tail_of(path: str, calls: int = CALLS) -> bytes:
    """Read the last lines of a transcript, with at least so many calls; none of one not there yet.

    A line with a call names ``tool_use`` once or twice, so up to twice as many calls are read.
    """
    try:
        with open(path, "rb", opener=opener) as file:
            end = position = file.seek(0, 2)
            found = 0
            while position and found < 2 * calls and end - position < BYTES:
                size = min(position, _BLOCK)
                position = file.seek(position - size)
                found += file.read(size).count(_CALL)
            file.seek(position)
            if position:
                file.readline()  # it may be cut
            return file.read()
    except FileNotFoundError:
        return b""


def holds_blocks(line: bytes) -> bool:
    """Whether a line may hold a call or a result."""
    return _CALL in line or _RESULT in line


class Look:
    """A first look at what came before.

    Every detector of the presets ``default`` and ``escalating`` needs something that was there
    before: the call, its answer, or one more failure. A block may refuse a call that was never made
    before, but only if its tool has just failed or repeated an answer. If the answer of such a call
    is a success that was never given before either, then it closes no loop, unless the tool ends
    the run: an agent may declare itself done again and again.
    """

    def __init__(self, tail: bytes, ignore: "Collection[str]") -> None:
        self._tail = tail
        self._ignore = ignore

    def is_all_new(self, event: "Dict[str, Any]") -> bool:
        """Whether all calls and results of an event are new."""
        kind = event.get("hook_event_name")
        if kind == "PreToolUse":
            return self._is_new(event, [event.get("tool_use_id")]) and self._has_just_worked(event)
        calls = event.get("tool_calls")
        if kind != "PostToolBatch" or not isinstance(calls, list):
            return False
        if not all(isinstance(call, dict) for call in calls):
            return False
        own = [call.get("tool_use_id") for call in calls]
        return all(self._is_new(call, own) and self._has_new_result(call, own) for call in calls)

    def _is_new(self, call: "Dict[str, Any]", own: "Collection[Any]") -> bool:
        tool, arguments = call.get("tool_name"), call.get("tool_input")
        if tool in self._ignore:
            return True
        if not (isinstance(tool, str) and isinstance(arguments, dict)):
            return False
        return not any(
            block.get("name") == tool and block.get("input", arguments) == arguments
            for block in self._blocks(_CALL, [tool, *_texts(arguments)])
            if block.get("id") not in own
        )

    def _has_new_result(self, call: "Dict[str, Any]", own: "Collection[Any]") -> bool:
        text = plain_text(call.get("tool_response"))
        if call.get("tool_name") in self._ignore:
            return True
        if text is None or not is_plain_success(text, is_failure(text)):
            return False
        if may_finish(call.get("tool_name")):
            return False
        return not any(
            plain_text(block.get("content")) in (text, None)
            for block in self._blocks(_RESULT, [text[:_TELLING]])
            if block.get("tool_use_id") not in own
        )

    def _has_just_worked(self, event: "Dict[str, Any]") -> bool:
        """Whether this tool gave nothing but new successes in the last round, if it was called."""
        tool, is_main = event.get("tool_name"), not event.get("agent_id")
        # A block may hit any call of a tool that has just failed, so the engine decides then.
        return tool in self._ignore or all(
            not result.get("is_error")
            and self._has_new_result(
                {"tool_name": tool, "tool_response": result.get("content")}, [call.get("id")]
            )
            for call, result in self._last_round(is_main)
            if call.get("name") == tool
        )

    def _last_round(self, is_main: bool) -> "Iterator[Tuple[Dict[str, Any], Dict[str, Any]]]":
        """Yield the calls of the last round that count, each with its result.

        Args:
            is_main: leave out the calls of subagents.
        """
        results: Dict[str, Dict[str, Any]] = {}
        latest: Any = None
        for line in filter(holds_blocks, _lines_backwards(self._tail)):
            said = self._read(line)
            message: Any = {} if is_main and said.get("isSidechain") else said.get("message")
            for block in reversed(_blocks_of(message)):
                if block.get("type") == "tool_result":
                    results[str(block.get("tool_use_id"))] = block
                elif str(block.get("id")) in results and block.get("name") not in self._ignore:
                    if latest is not None and not _are_one(message, latest):
                        return
                    latest = message
                    yield block, results[str(block.get("id"))]

    def _blocks(self, kind: bytes, texts: "List[str]") -> "Iterator[Dict[str, Any]]":
        """Yield the content blocks of the lines in which the longest part of the texts stands."""
        # The longest part is in the fewest lines, and only these have to be parsed.
        telling = max((run for text in texts for run in _runs(text)), key=len, default=b"")
        for line in _lines_with(telling, self._tail):
            if kind in line:
                yield from _blocks_of(self._read(line).get("message"))

    def _read(self, line: bytes) -> "Dict[str, Any]":
        """Return the value of a line; an empty one if it is not a JSON object."""
        try:
            value = loads(line.decode("utf-8", "surrogateescape"))
        except UNREADABLE:
            return {}
        return value if isinstance(value, dict) else {}


def _blocks_of(message: "Any") -> "List[Dict[str, Any]]":
    content = message.get("content") if isinstance(message, dict) else None
    blocks = content if isinstance(content, list) else []
    return [block for block in blocks if isinstance(block, dict)]


def _are_one(message: "Dict[str, Any]", other: "Dict[str, Any]") -> bool:
    """Whether two lines hold parts of one reply."""
    return message is other or (bool(message.get("id")) and message.get("id") == other.get("id"))


def plain_text(content: "Any") -> "str | None":
    """Return the text of a result, None where it holds more than text."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    texts = [part.get("text") if isinstance(part, dict) else None for part in content]
    return None if None in texts else "\n".join(map(str, texts))


def is_failure(text: str) -> bool:
    """Whether Claude Code says that a call failed; at the end of a round nothing else does."""
    return text.startswith(("Exit code ", "<tool_use_error>"))


def _texts(value: "Any") -> "Iterator[str]":
    """Yield the texts inside arguments."""
    if isinstance(value, str):
        yield value[:_TELLING]
    elif isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def _runs(text: str) -> "List[bytes]":
    """Split a text into runs of characters that look the same in any JSON."""
    return text.encode("utf-8", "surrogatepass").translate(_RUNS).split(b"\n")


def _lines_backwards(text: bytes) -> "Iterator[bytes]":
    """Yield the lines of a text, the last one first."""
    end = len(text)
    while end >= 0:
        start = text.rfind(b"\n", 0, end) + 1
        yield text[start:end]
        end = start - 1


def _lines_with(part: bytes, text: bytes) -> "Iterator[bytes]":
    """Yield the lines in which a part stands; to split the whole text would take far longer."""
    found = text.find(part)
    while found >= 0:
        end = text.find(b"\n", found)
        end = len(text) if end < 0 else end
        yield text[text.rfind(b"\n", 0, found) + 1 : end]
        found = text.find(part, end + 1)
