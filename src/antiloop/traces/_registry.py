"""The formats that recorded runs are read from, and how each is recognized."""

from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterable, Iterator, Mapping, Optional, Protocol, Tuple

from .._short_repr import repr_of_fields
from ..stability import beta
from ._readers import (
    antiloop_jsonl,
    atif,
    claude_code,
    cline,
    codex,
    copilot_cli,
    cursor,
    event_log,
    gemini_cli,
    inspect_ai,
    markdown,
    mini_swe_agent,
    observability,
    opencode,
    openhands,
    otlp,
    pi,
    qwen_code,
    swe_agent,
    vscode_chat,
)
from ._readers.chats import CHATS
from ._readers.conversations import CONVERSATIONS, mentions_tools
from ._readers.frameworks import FRAMEWORKS
from ._readers.headless import CODEX_EXEC, GEMINI_STREAM
from ._recorded_run import RecordedRun
from ._shared.records import OnTrouble, Record
from ._shared.run_under_way import Follow, not_by_record

_Read = Callable[[Iterable[Record], str, OnTrouble], Iterator[RecordedRun]]


@beta
@dataclass(frozen=True)
class TraceFormat:
    """One format of recorded runs."""

    name: str
    """As in ``--from``."""
    expected: str
    """The content of a file of this format, for messages and help."""
    recognizes: Callable[[Any], bool]
    """Whether a JSON value belongs to this format. It looks at the value, never at file names."""
    read: _Read
    """Turn the good records of one file, in order, into runs."""
    is_sure: Optional[Callable[[Any], bool]] = None
    """Whether a value that is recognized can be of no other format; None where none can."""
    follow: Optional[Follow] = None
    """Read a file record by record while it grows; None where each record holds whole runs."""

    __repr__ = repr_of_fields


class _Reader(Protocol):
    """A module, or an entry of a table, that reads one format."""

    @property
    def recognizes(self) -> Callable[[Any], bool]: ...
    @property
    def read(self) -> _Read: ...


_READERS: Tuple[Tuple[str, str, _Reader, Optional[Follow]], ...] = (
    ("antiloop", 'one {"run_id", "steps": [...]} a line', antiloop_jsonl, None),
    ("mini-swe-agent", "mini-swe-agent trajectories", mini_swe_agent, None),
    ("inspect", "logs of Inspect AI", inspect_ai, None),
    ("copilot-chat", "sessions of Copilot Chat in VS Code", vscode_chat, not_by_record),
    ("cursor", "sessions of Cursor", cursor, cursor.follow),
    ("cline", "conversations of Cline, Roo Code and Kilo Code", cline, cline.follow),
    ("opencode", "sessions of opencode", opencode, opencode.follow),
    ("pi", "sessions of pi and OpenClaw", pi, pi.follow),
    ("copilot-cli", "sessions of Copilot CLI", copilot_cli, copilot_cli.follow),
    ("codex-exec", "output of codex exec --json", CODEX_EXEC, CODEX_EXEC.follow),
    ("gemini-stream", "output of Gemini CLI's stream-json", GEMINI_STREAM, GEMINI_STREAM.follow),
    ("qwen-code", "chats of Qwen Code", qwen_code, qwen_code.follow),
    ("markdown", "histories of Aider and SpecStory", markdown, not_by_record),
    *(
        (name, expected, each[name], each[name].follow)
        for name, expected, each in (
            ("droid", "sessions of Factory Droid", CHATS),
            ("amp", "threads of Amp", CHATS),
            ("crush", "sessions of Crush", CHATS),
            ("goose", "sessions of Goose", CHATS),
            ("continue", "sessions of Continue", CHATS),
            ("kimi", "sessions of Kimi CLI", CHATS),
            ("ai-sdk", "messages of Vercel's AI SDK", FRAMEWORKS),
            ("tau2", "simulations of tau2", FRAMEWORKS),
            ("smolagents", "steps of smolagents", FRAMEWORKS),
            ("browser-use", "histories of browser-use", FRAMEWORKS),
            ("autogen", "messages of AutoGen", FRAMEWORKS),
            ("librechat", "conversations of LibreChat", FRAMEWORKS),
        )
    ),
    ("otlp", "OpenTelemetry spans as JSON", otlp, not_by_record),
    ("atif", "ATIF trajectories", atif, None),
    ("swe-agent", "SWE-agent trajectories", swe_agent, None),
    ("openhands", "OpenHands events", openhands, openhands.follow),
    ("event-log", "one event of a run a line", event_log, event_log.follow),
    ("anthropic", "Anthropic messages with tool_use blocks", CONVERSATIONS["anthropic"], None),
    ("claude-code", "Claude Code sessions", claude_code, claude_code.follow),
    ("openai-responses", "items of OpenAI Responses", CONVERSATIONS["openai-responses"], None),
    ("codex", "Codex CLI sessions", codex, codex.follow),
    ("langchain", "LangChain messages", CONVERSATIONS["langchain"], None),
    ("gemini", "Gemini contents with functionCall parts", CONVERSATIONS["gemini"], None),
    ("gemini-cli", "Gemini CLI sessions", gemini_cli, gemini_cli.follow),
    ("pydantic-ai", "Pydantic AI messages", CONVERSATIONS["pydantic-ai"], None),
    ("adk", "Google ADK sessions", CONVERSATIONS["adk"], None),
    ("strands", "Converse messages with toolUse blocks", CONVERSATIONS["strands"], None),
    ("langfuse", "observations of Langfuse", observability.LANGFUSE, not_by_record),
    ("mlflow", "traces of MLflow", observability.MLFLOW, not_by_record),
    ("phoenix", "spans of Phoenix", observability.PHOENIX, not_by_record),
    ("langsmith", "runs of LangSmith", observability.LANGSMITH, not_by_record),
    ("weave", "calls of W&B Weave", observability.WEAVE, not_by_record),
    # Last, as many others tell who speaks in the same way.
    ("openai-chat", "OpenAI chat messages", CONVERSATIONS["openai-chat"], None),
    ("chat-lines", "one chat message a line", CHATS["chat-lines"], CHATS["chat-lines"].follow),
)
_IS_SURE: Mapping[str, Callable[[Any], bool]] = {"openai-chat": mentions_tools}

FORMATS: Dict[str, TraceFormat] = {
    name: TraceFormat(name, expected, each.recognizes, each.read, _IS_SURE.get(name), follow)
    for name, expected, each, follow in _READERS
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
"""The message for a file with nothing in it, or nothing but blank lines."""


_USUAL = ("antiloop", "openai-chat", "anthropic", "claude-code", "codex", "otlp")


def expected() -> str:
    """Name the most usual formats, for an error message."""
    # All of them are a page of text, in which the one that was meant is lost.
    named = ", ".join(FORMATS[name].expected for name in _USUAL)
    others = len(FORMATS) - len(_USUAL)
    return f"{named}, or one of {others} other formats, which `antiloop scan --help` lists"
