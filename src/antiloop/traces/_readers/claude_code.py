"""Claude Code sessions: transcripts, and what ``claude -p --output-format stream-json`` prints.

The lines of several agents and sessions may be mixed, so the whole file is read before the first
run is given; of each line only what bears on calls is held.
"""

from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple

from ..._amounts import moment_s, number
from ..._latest import Latest
from ...formats._internal import (
    MAIN_AGENT,
    SYNTHETIC,
    AgentsOfLines,
    TranscriptBuilder,
    field_of,
    is_message_line,
    is_of_conversation,
    items_of,
    keep_latest,
    tag_of,
    text_of,
)
from .._recorded_run import RecordedRun
from .._shared.records import OnTrouble, Record
from .._shared.run_under_way import RUNS_UNDER_WAY, TakeRecord
from .._shared.usage import ReplyUsage, reply_event, total_usage
from .conversations import anthropic_usage


def recognizes(value: Any) -> bool:
    """Whether a JSON value is a line of a session: one with a message, or one of the system."""
    if not isinstance(value, dict) or not _session_of(value):
        return False
    return is_message_line(value) or (value.get("type") == "system" and "subtype" in value)


def is_sure(value: Any) -> bool:
    """Whether a recognized value cannot be a line of cursor-agent, whose words look the same.

    Its logs begin with another line, but that may be cut off.
    """
    blocks = items_of(field_of(field_of(value, "message"), "content"))
    has_tools = any(tag_of(each, "type") in ("tool_use", "tool_result") for each in blocks)
    is_own = "sessionId" in value or "parent_tool_use_id" in value or value["type"] == "system"
    return is_own or has_tools


def read(found: Iterable[Record], name: str, on_trouble: OnTrouble) -> Iterator[RecordedRun]:
    """Yield one run for each session, and one for each of its subagents."""
    sessions = _Sessions(name, on_trouble, {})
    for record in found:
        sessions.take(record)
    for run in sessions.runs.values():
        yield run.recorded()


def follow(name: str, on_trouble: OnTrouble) -> TakeRecord:
    """Read a session line by line while it is written."""
    return _Sessions(name, on_trouble, Latest(RUNS_UNDER_WAY)).take


def _session_of(line: Any) -> str:
    return text_of(field_of(line, "sessionId")) or text_of(field_of(line, "session_id"))


class _Sessions:
    """The runs of a file, each an agent's part in a session."""

    def __init__(
        self, name: str, on_trouble: OnTrouble, runs: "Dict[Tuple[str, str], _Transcript]"
    ) -> None:
        self.runs = runs
        self._agents = AgentsOfLines()
        self._name = name
        self._on_trouble = on_trouble

    def take(self, record: Record) -> "List[_Transcript]":
        """Add a line to the run that it belongs to."""
        line = record.value
        if not isinstance(field_of(line, "type"), str):
            self._on_trouble(record.line, "")
        elif is_of_conversation(line) or line["type"] == "result":
            session, agent = key = _session_of(line), self._agents.agent_of(line)
            run = self.runs.get(key)
            if run is None:
                run = _Transcript(session, agent, record.place(self._name))
            self.runs[key] = run
            run.take(line)
            return [run]
        return []


class _Transcript(TranscriptBuilder):
    """One agent's part in a session."""

    is_over = False  # a session can be resumed at any time

    def __init__(self, session: str, agent: str, source: str) -> None:
        super().__init__()
        named = session or source
        self.run_id = named if agent == MAIN_AGENT else f"{named}/{agent}"
        self.source = source
        self._agent = agent
        self._replies: Dict[str, Tuple[int, Optional[float], ReplyUsage]] = {}
        self._cost: Optional[float] = None
        self._failed = False

    def take(self, line: Any) -> None:
        before = len(self), moment_s(field_of(line, "timestamp"))
        self.add_line(line)
        message = field_of(line, "message")
        if field_of(line, "type") == "result":
            self._cost = number(field_of(line, "total_cost_usd"))
            self._failed = bool(field_of(line, "is_error"))
        elif field_of(line, "type") == "assistant" and field_of(message, "model") != SYNTHETIC:
            # Each line of a message repeats what the message took so far; the last one counts.
            own = text_of(field_of(message, "id")) or f"#{len(self._replies)}"
            step, time_s, *_ = self._replies.get(own, before)
            self._replies[own] = step, time_s, anthropic_usage(message)

    def forget(self, before: int, heard: int = 0) -> int:
        """Remove calls before a step, now or later, and old replies."""
        keep_latest(self._replies)
        return super().forget(before, heard)

    def recorded(self) -> RecordedRun:
        history, agent = self.build(), self._agent or None
        replies = [reply for reply in self._replies.values() if reply[2] != ReplyUsage()]
        return RecordedRun(
            self.run_id,
            source=self.source,
            events=tuple(
                reply_event(step, usage, agent=agent, time_s=at) for step, at, usage in replies
            ),
            agent=agent,
            cost=self._cost,
            failed=self._failed,
            client=self.client,
            **vars(history),
            **vars(total_usage(usage for _, _, usage in replies)),
        )
