"""The formats that recorded runs are read from, and how each is recognized."""

from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterable, Iterator, Optional

from ..short_repr import repr_of_fields
from ..stability import beta
from .readers import (
    adk,
    anthropic,
    antiloop_jsonl,
    atif,
    claude_code,
    codex,
    event_log,
    gemini,
    gemini_cli,
    inspect_ai,
    langchain,
    mini_swe_agent,
    observability,
    openai_chat,
    openai_responses,
    openhands,
    otlp,
    pydantic_ai,
    strands,
    swe_agent,
)
from .recorded_run import RecordedRun
from .shared.records import OnTrouble, Record
from .shared.run_under_way import Follow, not_by_record


@beta
@dataclass(frozen=True)
class TraceFormat:
    """One format of recorded runs."""

    name: str
    """As in ``--from``."""
    expected: str
    """What a file of this format holds, for messages and help."""
    recognizes: Callable[[Any], bool]
    """Whether a JSON value belongs to this format. It looks at the value, never at file names."""
    read: Callable[[Iterable[Record], str, OnTrouble], Iterator[RecordedRun]]
    """Turn the good records of one file, in order, into runs."""
    is_sure: Optional[Callable[[Any], bool]] = None
    """Whether a value that is recognized can be of no other format; None where none can."""
    follow: Optional[Follow] = None
    """Read a file record by record while it grows; None where each record holds whole runs."""

    __repr__ = repr_of_fields


FORMATS: Dict[str, TraceFormat] = {
    trace_format.name: trace_format
    for trace_format in (
        TraceFormat(
            "antiloop",
            'one {"run_id", "steps": [...]} a line',
            antiloop_jsonl.recognizes,
            antiloop_jsonl.read,
        ),
        TraceFormat(
            "openai-chat",
            "OpenAI chat messages",
            openai_chat.recognizes,
            openai_chat.read,
            openai_chat.is_sure,
        ),
        TraceFormat(
            "otlp", "OpenTelemetry spans as JSON", otlp.recognizes, otlp.read, follow=not_by_record
        ),
        TraceFormat("atif", "ATIF trajectories", atif.recognizes, atif.read),
        TraceFormat("swe-agent", "SWE-agent trajectories", swe_agent.recognizes, swe_agent.read),
        TraceFormat(
            "mini-swe-agent",
            "mini-swe-agent trajectories",
            mini_swe_agent.recognizes,
            mini_swe_agent.read,
        ),
        TraceFormat(
            "openhands",
            "OpenHands events",
            openhands.recognizes,
            openhands.read,
            follow=openhands.follow,
        ),
        TraceFormat(
            "event-log",
            "one event of a run a line",
            event_log.recognizes,
            event_log.read,
            follow=event_log.follow,
        ),
        TraceFormat(
            "anthropic",
            "Anthropic messages with tool_use blocks",
            anthropic.recognizes,
            anthropic.read,
        ),
        TraceFormat(
            "claude-code",
            "Claude Code sessions",
            claude_code.recognizes,
            claude_code.read,
            follow=claude_code.follow,
        ),
        TraceFormat(
            "openai-responses",
            "items of OpenAI Responses",
            openai_responses.recognizes,
            openai_responses.read,
        ),
        TraceFormat(
            "codex", "Codex CLI sessions", codex.recognizes, codex.read, follow=codex.follow
        ),
        TraceFormat("langchain", "LangChain messages", langchain.recognizes, langchain.read),
        TraceFormat(
            "gemini",
            "Gemini contents with functionCall parts",
            gemini.recognizes,
            gemini.read,
        ),
        TraceFormat(
            "gemini-cli",
            "Gemini CLI sessions",
            gemini_cli.recognizes,
            gemini_cli.read,
            follow=gemini_cli.follow,
        ),
        TraceFormat(
            "pydantic-ai",
            "Pydantic AI messages",
            pydantic_ai.recognizes,
            pydantic_ai.read,
        ),
        TraceFormat("adk", "Google ADK sessions", adk.recognizes, adk.read),
        TraceFormat(
            "strands",
            "Converse messages with toolUse blocks",
            strands.recognizes,
            strands.read,
        ),
        TraceFormat("inspect", "logs of Inspect AI", inspect_ai.recognizes, inspect_ai.read),
        *(
            TraceFormat(name, expected, each.recognizes, each.read, follow=not_by_record)
            for name, expected, each in (
                ("langfuse", "observations of Langfuse", observability.LANGFUSE),
                ("phoenix", "spans of Phoenix", observability.PHOENIX),
                ("langsmith", "runs of LangSmith", observability.LANGSMITH),
                ("weave", "calls of W&B Weave", observability.WEAVE),
            )
        ),
    )
}
"""By name, in the order in which they are tried."""


def recognize(value: Any) -> Optional[TraceFormat]:
    """Find the format that a JSON value can only belong to."""
    known = likely(value)
    return None if known is None or (known.is_sure and not known.is_sure(value)) else known


def likely(value: Any) -> Optional[TraceFormat]:
    """Find the first format that a JSON value may belong to."""
    return next((known for known in FORMATS.values() if known.recognizes(value)), None)


EMPTY = "no recorded runs here: it is empty"
"""What is said of a file with nothing in it, or nothing but blank lines."""


def expected() -> str:
    """List what could have been read, for an error message."""
    *others, last = (known.expected for known in FORMATS.values())
    return f"{', '.join(others)}, or {last}"
