"""The formats that recorded runs are read from, and how each is recognized."""

from dataclasses import dataclass
from typing import Any, Callable, Dict, Mapping, Optional, Protocol, Tuple

from .._short_repr import Shown
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
from ._shared.run_under_way import Follow, Read


@beta
@dataclass(frozen=True, repr=False)
class TraceFormat(Shown):
    """One format of recorded runs."""

    name: str
    """As in ``--from``."""
    expected: str
    """The content of a file of this format, for messages and help."""
    recognizes: Callable[[Any], bool]
    """Whether a JSON value belongs to this format. It looks at the value, never at file names."""
    read: Read
    """Turn the good records of one file, in order, into runs."""
    is_sure: Optional[Callable[[Any], bool]] = None
    """Whether a value that is recognized can be of no other format; None where none can."""
    follow: Optional[Follow] = None
    """Read a file record by record while it grows; None where each record holds whole runs."""


class _ReaderModule(Protocol):
    """A module, or an entry of a table, that reads one format.

    It has ``follow`` too, unless each record holds whole runs.
    """

    @property
    def recognizes(self) -> Callable[[Any], bool]: ...
    @property
    def read(self) -> Read: ...


_READERS: Tuple[Tuple[str, str, _ReaderModule], ...] = (
    ("antiloop", 'one {"run_id", "steps": [...]} a line', antiloop_jsonl),
    ("mini-swe-agent", "mini-swe-agent trajectories", mini_swe_agent),
    ("inspect", "logs of Inspect AI", inspect_ai),
    ("copilot-chat", "sessions of Copilot Chat in VS Code", vscode_chat),
    ("cursor", "sessions of Cursor", cursor.FORMAT),
    ("cline", "conversations of Cline, Roo Code and Kilo Code", cline.FORMAT),
    ("opencode", "sessions of opencode", opencode.FORMAT),
    ("pi", "sessions of pi and OpenClaw", pi.FORMAT),
    ("copilot-cli", "sessions of Copilot CLI", copilot_cli.FORMAT),
    ("codex-exec", "output of codex exec --json", CODEX_EXEC),
    ("gemini-stream", "output of Gemini CLI's stream-json", GEMINI_STREAM),
    ("qwen-code", "chats of Qwen Code", qwen_code.FORMAT),
    ("markdown", "histories of Aider and SpecStory", markdown),
    ("droid", "sessions of Factory Droid", CHATS["droid"]),
    ("amp", "threads of Amp", CHATS["amp"]),
    ("crush", "sessions of Crush", CHATS["crush"]),
    ("goose", "sessions of Goose", CHATS["goose"]),
    ("continue", "sessions of Continue", CHATS["continue"]),
    ("kimi", "sessions of Kimi CLI", CHATS["kimi"]),
    ("ai-sdk", "messages of Vercel's AI SDK", FRAMEWORKS["ai-sdk"]),
    ("tau2", "simulations of tau2", FRAMEWORKS["tau2"]),
    ("smolagents", "steps of smolagents", FRAMEWORKS["smolagents"]),
    ("browser-use", "histories of browser-use", FRAMEWORKS["browser-use"]),
    ("autogen", "messages of AutoGen", FRAMEWORKS["autogen"]),
    ("librechat", "conversations of LibreChat", FRAMEWORKS["librechat"]),
    ("otlp", "OpenTelemetry spans as JSON", otlp),
    ("atif", "ATIF trajectories", atif),
    ("swe-agent", "SWE-agent trajectories", swe_agent),
    ("openhands", "OpenHands events", openhands),
    ("event-log", "one event of a run a line", event_log),
    ("anthropic", "Anthropic messages with tool_use blocks", CONVERSATIONS["anthropic"]),
    ("claude-code", "Claude Code sessions", claude_code),
    ("openai-responses", "items of OpenAI Responses", CONVERSATIONS["openai-responses"]),
    ("codex", "Codex CLI sessions", codex),
    ("langchain", "LangChain messages", CONVERSATIONS["langchain"]),
    ("gemini", "Gemini contents with functionCall parts", CONVERSATIONS["gemini"]),
    ("gemini-cli", "Gemini CLI sessions", gemini_cli),
    ("pydantic-ai", "Pydantic AI messages", CONVERSATIONS["pydantic-ai"]),
    ("adk", "Google ADK sessions", CONVERSATIONS["adk"]),
    ("strands", "Converse messages with toolUse blocks", CONVERSATIONS["strands"]),
    ("langfuse", "observations of Langfuse", observability.LANGFUSE),
    ("mlflow", "traces of MLflow", observability.MLFLOW),
    ("phoenix", "spans of Phoenix", observability.PHOENIX),
    ("langsmith", "runs of LangSmith", observability.LANGSMITH),
    ("weave", "calls of W&B Weave", observability.WEAVE),
    # Last, as many others tell who speaks in the same way.
    ("openai-chat", "OpenAI chat messages", CONVERSATIONS["openai-chat"]),
    ("chat-lines", "one chat message a line", CHATS["chat-lines"]),
)
_IS_SURE: Mapping[str, Callable[[Any], bool]] = {
    "claude-code": claude_code.is_sure,
    "openai-chat": mentions_tools,
}

FORMATS: Dict[str, TraceFormat] = {
    name: TraceFormat(
        *(name, expected, each.recognizes, each.read, _IS_SURE.get(name)),
        follow=getattr(each, "follow", None),
    )
    for name, expected, each in _READERS
}
"""By name, in the order in which they are tried."""


def recognize(value: Any) -> Optional[TraceFormat]:
    """Find the format that a JSON value can only belong to."""
    found = likely(value)
    return None if found is None or (found.is_sure and not found.is_sure(value)) else found


def likely(value: Any) -> Optional[TraceFormat]:
    """Find the first format that a JSON value may belong to."""
    return next((found for found in FORMATS.values() if found.recognizes(value)), None)


EMPTY = "no recorded runs here: it is empty"
"""The message for a file with nothing in it, or nothing but blank lines."""


_USUAL = ("antiloop", "openai-chat", "anthropic", "claude-code", "codex", "otlp")


def expected() -> str:
    """Name the most usual formats, for an error message."""
    # All of them are a page of text, in which the one that was meant is lost.
    named = ", ".join(FORMATS[name].expected for name in _USUAL)
    others = len(FORMATS) - len(_USUAL)
    return f"{named}, or one of {others} other formats, which `antiloop scan --help` lists"
