"""Claude Code sessions: transcripts, and what ``claude -p --output-format stream-json`` prints.

The lines of several agents and sessions may be mixed, so the whole file is read before the first
run is given; of each line only what bears on calls is held.
"""

from typing import Any, Dict, Iterable, Iterator, Optional, Tuple

from ..formats.amounts import number
from ..formats.claude_transcript import (
    MAIN_AGENT,
    AgentsOfLines,
    TranscriptBuilder,
    is_message_line,
)
from ..formats.content import field_of, text_of
from .anthropic import anthropic_usage
from .recorded_run import RecordedRun
from .records import OnTrouble, Record
from .usage import Usage, total_usage

_SYNTHETIC = "<synthetic>"  # where Claude Code wrote a reply itself, such as an API's error


def recognises(value: Any) -> bool:
    """Whether a JSON value is a line of a session: one with a message, or one of the system."""
    if not isinstance(value, dict) or not _session_of(value):
        return False
    return is_message_line(value) or (value.get("type") == "system" and "subtype" in value)


def read(found: Iterable[Record], name: str, on_trouble: OnTrouble) -> Iterator[RecordedRun]:
    """Yield one run for each session, and one for each of its subagents."""
    agents = AgentsOfLines()
    runs: Dict[Tuple[str, str], _Run] = {}
    for record in found:
        if not isinstance(field_of(record.value, "type"), str):
            on_trouble(record.line, "no line of a Claude Code session")
        elif is_message_line(record.value) or record.value["type"] == "result":
            key = _session_of(record.value), agents.agent_of(record.value)
            runs.setdefault(key, _Run(record.place(name))).add(record.value)
    for (session, agent), run in runs.items():
        yield run.recorded(session, agent)


def _session_of(line: Any) -> str:
    return text_of(field_of(line, "sessionId")) or text_of(field_of(line, "session_id"))


class _Run:
    """What is known of one agent's part in a session."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._transcript = TranscriptBuilder()
        self._usages: Dict[str, Usage] = {}
        self._cost: Optional[float] = None
        self._failed = False

    def add(self, line: Any) -> None:
        self._transcript.add(line)
        if field_of(line, "type") == "result":
            self._cost = number(field_of(line, "total_cost_usd"))
            self._failed = bool(field_of(line, "is_error"))
        message = field_of(line, "message")
        if field_of(message, "model") != _SYNTHETIC:
            # Each line of a message repeats what the message took so far; the last one counts.
            own = text_of(field_of(message, "id")) or f"#{len(self._usages)}"
            self._usages[own] = anthropic_usage(message)

    def recorded(self, session: str, agent: str) -> RecordedRun:
        told = self._transcript.build()
        run_id = session or self._source
        return RecordedRun(
            run_id if agent == MAIN_AGENT else f"{run_id}/{agent}",
            told.calls,
            told.results,
            told.turn_starts,
            self._source,
            agent=agent or None,
            cost=self._cost,
            failed=self._failed,
            **vars(total_usage(self._usages.values())),
        )
