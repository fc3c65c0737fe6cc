"""Runs that come message by message, and the formats that keep them so.

Most clients write one of a few shapes under different names: a message with blocks, a call with its
result, a reply with its calls. `ListedRun` takes these shapes; a reader only says where they are.
"""

from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple

from ..._latest import Latest
from ...formats import HistoryBuilder
from ...formats._internal import (
    arguments_of,
    field_of,
    filled_field,
    first_field,
    flag_of,
    has_forgotten,
    items_of,
    optional_text,
    tag_of,
    text_of,
    texts_in,
    thoughts_in,
)
from ...types import ToolResult
from .._recorded_run import RecordedRun
from .records import OnTrouble, Record
from .run_under_way import RUNS_UNDER_WAY, Follow, RunUnderWay
from .usage import ReplyUsage, reply_event, total_usage

_CALLS = ("tooluse", "toolcall", "functioncall")
_RESULTS = ("toolresult", "toolresponse", "functionresult")
_NAMES = ("name", "toolName", "tool_name", "tool")
_CALL_IDS = ("toolCallId", "tool_call_id", "call_id", "callId", "id")
_RESULT_IDS = ("tool_use_id", "toolUseID", "toolUseId", *_CALL_IDS)
_ARGUMENTS = ("input", "arguments", "args", "parameters")
_OUTPUTS = ("content", "output", "result")
_IS_ERROR = ("is_error", "isError")
_TYPED = ("text", "json", "content", "error-text", "error-json", "execution-denied")
_FAILED = ("error", "execution-denied")


class ListedRun(HistoryBuilder):
    """A run of which more may come."""

    is_over = False

    def __init__(self, source: str, run_id: Optional[str], client: Optional[str]) -> None:
        super().__init__(client)
        self.source = source
        self.run_id = run_id or source
        self.model: Optional[str] = None
        self.cost: Optional[float] = None
        self.failed = False
        self._replies: List[Tuple[int, Optional[float], Optional[float], ReplyUsage]] = []
        self._round = -1
        self._reply: Optional[str] = None
        self._pieces: List[str] = []
        self._mark: Optional[int] = None
        """The number of messages when the model last forgot something."""
        self.answered = 0
        """The number of results so far."""

    def begin_reply(self, reply: Optional[str] = None) -> None:
        """Begin a round, unless it is still the same reply of the model."""
        self._round += reply is None or reply != self._reply
        self._reply = reply

    def add_piece(self, text: str) -> None:
        """Note a part of what the model says, which goes on until `end_words`."""
        self._pieces.append(text)

    def end_words(self) -> None:
        """Note what the model said in parts, if it did."""
        self.add_reply("".join(self._pieces))
        self._pieces.clear()

    def call(self, name: Any, arguments: Any, call_id: Any, at: Optional[float] = None) -> None:
        """Take a call of the reply that was begun last."""
        given = arguments_of(arguments)
        self.add_call(text_of(name), given, optional_text(call_id), self._round, at)

    def ask(self, call: Any, at: Optional[float] = None) -> None:
        """Take a call that tells its tool, its arguments and its id under usual names."""
        body = filled_field(call, "function", "custom") or call
        given = first_field(body, *_ARGUMENTS)
        self.call(filled_field(body, *_NAMES), given, call_id_in(call), at)

    def is_open(self, call_id: Optional[str], among: int) -> bool:
        """Whether one of so many latest calls has this id and no result."""
        latest = zip(self.calls[-among:], self.results[-among:])
        return any(call.id == call_id and result is None for call, result in latest)

    def result(
        self,
        content: Any,
        call_id: Any,
        *,
        failed: bool = False,
        at: Optional[float] = None,
        took_s: Optional[float] = None,
        name: Any = None,
    ) -> None:
        """Take what came back, and when, or how long it took.

        None is unknown, unless the call failed: clients tell that a call ended where they do not
        keep what it gave.
        """
        self.answered += 1
        if content is None and not failed:
            return
        result = ToolResult(text_of(content), failed, took_s)
        self.add_result(result, optional_text(call_id), optional_text(name), at)

    def message(self, role: str, content: Any, at: Optional[float] = None) -> None:
        """Take a message: its blocks, or its text."""
        blocks = items_of(content) or [content]
        if role == "assistant":
            self.begin_reply()
            self.add_thoughts(*thoughts_in(content))
            self.add_reply(*texts_in(content))
        for block in blocks:
            kind = kind_of(block)
            if kind.endswith(_CALLS):
                self.ask(block, at)
            elif kind.endswith(_RESULTS):
                self._take_result(block, at)
        if role == "user":
            has_more = any(map(_is_shown, blocks))
            self.add_user_message(*(texts_in(content) or [""] * has_more))

    def chat(self, message: Any, at: Optional[float] = None) -> None:
        """Take a message whose calls may be next to its content, as OpenAI's API has them."""
        role, content = tag_of(message, "role"), field_of(message, "content")
        if role == "assistant":
            thoughts = filled_field(message, "reasoning_content", "reasoning", "thinking")
            self.add_thoughts(*texts_in(thoughts))
        call_id = field_of(message, "tool_call_id")
        has_results = any(kind_of(block).endswith(_RESULTS) for block in items_of(content))
        if role in ("tool", "function") and not has_results:
            failed = any(flag_of(message, name) for name in (*_IS_ERROR, "error"))
            self.result(content, call_id, failed=failed, at=at, name=field_of(message, "name"))
            return
        self.message(role, content, at)
        for call in items_of(filled_field(message, "tool_calls", "toolCalls")):
            self.ask(call, at)

    def _take_result(self, block: Any, at: Optional[float]) -> None:
        content = first_field(block, *_OUTPUTS)
        is_error = content in (None, "") and flag_of(block, "error")
        content = field_of(block, "error") if is_error else content
        kind = tag_of(content, "type")
        # Vercel's AI SDK says in the type of an output what its value is.
        if kind in _TYPED and not {"value", "reason"}.isdisjoint(content):
            content = first_field(content, "value", "reason")
        flags = (flag_of(block, name) for name in _IS_ERROR)
        failed = is_error or kind.startswith(_FAILED) or any(flags)
        call_id = filled_field(block, *_RESULT_IDS)
        self.result(content, call_id, failed=failed, at=at, name=filled_field(block, *_NAMES))

    def trimmed(self, removed: int, held: Optional[int] = None) -> None:
        """Take that the oldest messages were removed.

        If a little is removed before each request, the model has forgotten something only once
        nothing is left that it saw at the last mark; otherwise no loop would ever be found.

        Args:
            removed: how many messages.
            held: how many are left, where that is known.
        """
        made = self._round + 1 + self.answered + len(self.turn_starts)
        held = made - removed if held is None else held
        if self._mark is None and removed < held:
            self._mark = made
        # A call takes a message that asks for it and one with its result.
        elif removed >= held or has_forgotten(made // 2, (self._mark or 0) // 2, held // 2):
            self._mark = made
            self.add_summary()

    def used(
        self, usage: ReplyUsage, at: Optional[float] = None, cost: Optional[float] = None
    ) -> None:
        """Take what the model used for the reply whose calls come next."""
        self.model = self.model or usage.model
        if usage != ReplyUsage() or cost is not None:
            self._replies.append((len(self), at, cost, usage))

    def forget(self, before: int, heard: int = 0) -> int:
        """Remove what came before a step, now or later, and what replies used."""
        self._replies.clear()
        return super().forget(before, heard)

    def recorded(self) -> RecordedRun:
        """Return what is known of the run."""
        self.end_words()
        costs = [cost for _, _, cost, _ in self._replies if cost is not None]
        amounts = vars(total_usage(usage for *_, usage in self._replies))
        return RecordedRun(
            self.run_id,
            source=self.source,
            events=tuple(
                reply_event(step, usage, time_s=at, cost=cost)
                for step, at, cost, usage in self._replies
            ),
            cost=sum(costs) if costs and self.cost is None else self.cost,
            failed=self.failed,
            client=self.client,
            **vars(self.build()),
            **{**amounts, "model": self.model},
        )


def _is_shown(block: Any) -> bool:
    """Whether a block is a picture or the like, which a person shows."""
    kind = kind_of(block)
    return bool(kind) and kind != "text" and not kind.endswith((*_CALLS, *_RESULTS))


def kind_of(block: Any) -> str:
    """Return the type of a block in one spelling: ``tool-call`` and ``toolCall`` are one."""
    return tag_of(block, "type").replace("-", "").replace("_", "").lower()


def elements_in(text: str, name: str) -> List[str]:
    """Return the texts between the opening and the closing tags of a name.

    >>> elements_in("<a> x </a><a>y</a><a>z", "a")
    ['x', 'y']
    """
    found = []
    for part in text.split(f"<{name}>")[1:]:
        inner, closing, _ = part.partition(f"</{name}>")
        if closing:
            found.append(inner.strip())
    return found


def call_id_in(block: Any) -> Any:
    """Return the id of a call, under one of the usual names."""
    return filled_field(block, *_CALL_IDS)


Listed = Tuple[Optional[str], str, Any]
"""The id of a session, or None for the one before; an agent of it, or empty; and a message."""


@dataclass(frozen=True)
class ListedFormat:
    """A format of this kind, by the ways in which it differs from others."""

    recognizes: Callable[[Any], bool]
    """Whether a JSON value belongs to this format."""
    listed: Callable[[Any], Iterable[Listed]]
    """Find the messages in a value, with the session and the agent that each is of."""
    take: Callable[[ListedRun, Any], None]
    """Take one message into its run."""
    client: Optional[str] = None
    is_document: bool = False
    """Whether each value holds whole sessions; otherwise a session goes on over many."""

    def read(
        self, found: Iterable[Record], name: str, on_trouble: OnTrouble
    ) -> Iterator[RecordedRun]:
        """Yield one run for each session, and one for each of its agents."""
        file = _ListedFile(self, name, on_trouble, {})
        for record in found:
            file.take(record)
            if self.is_document:
                yield from file.given()
        yield from file.given()

    @property
    def follow(self) -> Optional[Follow]:
        """Read a file line by line while it is written; None where each value holds whole runs."""
        if self.is_document:
            return None
        return lambda name, on_trouble: (
            _ListedFile(self, name, on_trouble, Latest(RUNS_UNDER_WAY)).take
        )


class _ListedFile:
    """The runs of one file."""

    def __init__(
        self,
        trace_format: ListedFormat,
        name: str,
        on_trouble: OnTrouble,
        runs: Dict[Tuple[str, str], ListedRun],
    ) -> None:
        self.runs = runs
        self._format = trace_format
        self._name = name
        self._on_trouble = on_trouble
        self._session: Optional[str] = None

    def take(self, record: Record) -> List[RunUnderWay]:
        """Add what a record tells to the runs that it belongs to."""
        touched: Dict[int, RunUnderWay] = {}
        has_messages = False
        for session, agent, message in self._format.listed(record.value):
            has_messages = True
            if isinstance(message, dict):
                run = self._run(session, agent, record)
                self._format.take(run, message)
                touched[id(run)] = run
            elif session is not None:
                self._session = session
        if not has_messages:
            self._on_trouble(record.line, "")
        return list(touched.values())

    def given(self) -> List[RecordedRun]:
        """Return the runs, and begin again."""
        runs = [run.recorded() for run in self.runs.values()]
        self.runs.clear()
        self._session = None
        return runs

    def _run(self, session: Optional[str], agent: str, record: Record) -> ListedRun:
        self._session = session or self._session
        key = self._session or "", agent
        run = self.runs.get(key)
        if run is None:
            place = record.place(self._name)
            named = f"{self._session or place}/{agent}" if agent else self._session
            run = ListedRun(place, named, self._format.client)
        self.runs[key] = run
        return run
