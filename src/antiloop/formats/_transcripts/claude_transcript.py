"""Claude Code: the lines of a session's transcript, or of its output as ``stream-json``."""

from typing import Any, Dict, Iterable

from ..._latest import Latest
from ...stability import beta
from .._content import field_of, flag_of, optional_text, tag_of, text_of, time_of
from .._growing_history import keep_latest
from .._history import History
from .._history_builder import HistoryBuilder
from .._messages.anthropic import add_blocks, add_words, blocks_of, words_of

SYNTHETIC = "<synthetic>"
"""The name in place of a model where Claude Code wrote a reply itself, such as an API's error."""
MAIN_AGENT = ""
"""The agent that the user talks to."""
_SIDE_LINES = 10_000
"""Lines of subagents that are remembered; the line that one answers is near."""


@beta
def from_claude_transcript(lines: Iterable[Any], agent_id: str = MAIN_AGENT) -> History:
    """Read the tool calls and results of one agent in a Claude Code session.

    The format is not documented by its owner, so what is not understood is skipped. Parallel
    calls are on separate lines there; the id of their message makes them one round.

    Args:
        lines: the JSON values of the transcript's lines, in order.
        agent_id: whose calls; a subagent's own transcript needs its id here as well.

    Returns:
        The calls of that agent, with their results. Lines that Claude Code wrote itself (marked
        as meta, notifications, reminders) are not turns of the user. A summary after a
        compaction is a message that says so.

    >>> call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    >>> said = {"id": "m1", "role": "assistant", "content": [call]}
    >>> from_claude_transcript([{"type": "assistant", "message": said}]).calls[0].tool_name
    'Bash'
    """
    agents = AgentsOfLines()
    transcript = TranscriptBuilder()
    for line in lines:
        if agents.agent_of(line) == agent_id:
            transcript.add_line(line)
    return transcript.build()


def is_message_line(line: Any) -> bool:
    """Whether a line holds a message of the user or of the model."""
    return tag_of(line, "type") in ("user", "assistant") and flag_of(line, "message")


def is_of_conversation(line: Any) -> bool:
    """Whether a line tells what was said or done, or that the model no longer sees it."""
    return is_message_line(line) or _is_compaction(line) or _queued_in(line) is not None


def _is_compaction(line: Any) -> bool:
    return tag_of(line, "subtype") == "compact_boundary"


def _queued_in(line: Any) -> Any:
    """Return what was said while the model was at work and told to it with the next results.

    It has no line as a message of the user.
    """
    attached = field_of(line, "attachment")
    return attached if tag_of(attached, "type") == "queued_command" else None


def _is_of_person(line: Any) -> bool:
    """Whether a user's line was written by a person, not by a task that came to its end."""
    return tag_of(field_of(line, "origin"), "kind") in ("", "human", "user")


def _calls_of(message: Any) -> str:
    """Name the calls of a message by its id and theirs; empty text where it has none of either."""
    # Some providers use the ids of calls again; without that of the message they prove nothing.
    own = text_of(field_of(message, "id"))
    ids = [text_of(field_of(block, "id")) for block in blocks_of(message)]
    return " ".join([own, *ids]) if own and any(ids) else ""


class AgentsOfLines:
    """Finds the agent that each line belongs to; takes the lines in order."""

    def __init__(self) -> None:
        self._of_line: Latest[str, str] = Latest(_SIDE_LINES)

    def agent_of(self, line: Any) -> str:
        """Return the id of a subagent, or `MAIN_AGENT`."""
        started_by = optional_text(field_of(line, "parent_tool_use_id"))
        if started_by or not flag_of(line, "isSidechain"):
            return started_by or MAIN_AGENT
        named = optional_text(field_of(line, "agentId"))
        # Older versions name no agent; the first line of a sidechain stands for it.
        own, parent = text_of(field_of(line, "uuid")), text_of(field_of(line, "parentUuid"))
        agent = named or self._of_line.get(parent) or own or "sidechain"
        self._of_line[own] = agent
        return agent


class TranscriptBuilder(HistoryBuilder):
    """Collects the calls and results of one agent, line by line."""

    def __init__(self) -> None:
        super().__init__("claude-code")
        self._rounds: Dict[str, int] = {}
        self._round = 0
        self._lines: Dict[str, None] = {}

    def add_line(self, line: Any) -> None:
        """Add one line; one that holds no message, or was there before, is passed over."""
        if not is_of_conversation(line) or self._is_copy(line):
            return
        queued = _queued_in(line)
        if _is_compaction(line):
            self.add_summary()
        elif queued is None:
            self._add_message_line(line)
        elif _is_of_person(queued):
            said = {"role": "user", "content": field_of(queued, "prompt")}
            self.add_user_message(*words_of(said))

    def _add_message_line(self, line: Any) -> None:
        message = field_of(line, "message")
        if field_of(message, "model") != SYNTHETIC:
            add_words(self, message)
        add_blocks(self, message, self._round_of(message), time_of(line))
        if flag_of(line, "isCompactSummary"):
            self.add_summary(*words_of(message))
        elif not flag_of(line, "isMeta") and _is_of_person(line):
            self.add_user_message(*words_of(message))

    def forget(self, before: int, heard: int = 0) -> int:
        """Remove calls before a step, now or later, and old lines."""
        keep_latest(self._rounds)
        keep_latest(self._lines)
        return super().forget(before, heard)

    def _is_copy(self, line: Any) -> bool:
        """Whether a line was there before, by its own id, or by those of what it asks for."""
        own, asked = text_of(field_of(line, "uuid")), ""
        if tag_of(line, "type") == "assistant":
            asked = _calls_of(field_of(line, "message"))
        known = own in self._lines or asked in self._lines
        self._lines.update(dict.fromkeys(filter(None, (own, asked))))
        return known

    def _round_of(self, message: Any) -> int:
        number, own = self._round, text_of(field_of(message, "id"))
        self._round += own not in self._rounds
        return self._rounds.setdefault(own or f"#{number}", number)
