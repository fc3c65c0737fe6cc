"""Conversations in many formats, read as tool calls and their results.

``messages`` reads message lists of LLM APIs and frameworks, ``transcripts`` the sessions of coding
agents and benchmarks, ``spans`` traces and what tools for observability export. There is one file
for each format, with a pure function that returns a :class:`History`. Messages may be plain JSON or
a library's own objects; nothing is imported from that library.
"""

from ..lazy import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .history import History, rounds_of
    from .messages.adk import from_adk
    from .messages.agent_framework import from_agent_framework
    from .messages.anthropic import from_anthropic
    from .messages.gemini import from_gemini
    from .messages.inspect_ai import from_inspect
    from .messages.langchain import from_langchain
    from .messages.openai_chat import from_openai_chat
    from .messages.openai_responses import from_openai_responses
    from .messages.pydantic_ai import from_pydantic_ai
    from .messages.strands import from_strands
    from .spans.observability import from_langfuse, from_langsmith, from_phoenix, from_weave
    from .spans.otlp import from_otlp
    from .text_message import TextMessage
    from .transcripts.atif import from_atif
    from .transcripts.claude_transcript import from_claude_transcript
    from .transcripts.codex import from_codex_rollout
    from .transcripts.gemini_session import from_gemini_session
    from .transcripts.mini_swe_agent import from_mini_swe_agent
    from .transcripts.openhands import from_openhands
    from .transcripts.swe_agent import from_swe_agent

__all__ = [
    "History",
    "TextMessage",
    "from_adk",
    "from_agent_framework",
    "from_anthropic",
    "from_atif",
    "from_claude_transcript",
    "from_codex_rollout",
    "from_gemini",
    "from_gemini_session",
    "from_inspect",
    "from_langchain",
    "from_langfuse",
    "from_langsmith",
    "from_mini_swe_agent",
    "from_openai_chat",
    "from_openai_responses",
    "from_openhands",
    "from_otlp",
    "from_phoenix",
    "from_pydantic_ai",
    "from_strands",
    "from_swe_agent",
    "from_weave",
    "rounds_of",
]

_HOMES = {
    "History": "history",
    "rounds_of": "history",
    "from_adk": "messages.adk",
    "from_agent_framework": "messages.agent_framework",
    "from_anthropic": "messages.anthropic",
    "from_gemini": "messages.gemini",
    "from_inspect": "messages.inspect_ai",
    "from_langchain": "messages.langchain",
    "from_openai_chat": "messages.openai_chat",
    "from_openai_responses": "messages.openai_responses",
    "from_pydantic_ai": "messages.pydantic_ai",
    "from_strands": "messages.strands",
    "from_langfuse": "spans.observability",
    "from_langsmith": "spans.observability",
    "from_phoenix": "spans.observability",
    "from_weave": "spans.observability",
    "from_otlp": "spans.otlp",
    "TextMessage": "text_message",
    "from_atif": "transcripts.atif",
    "from_claude_transcript": "transcripts.claude_transcript",
    "from_codex_rollout": "transcripts.codex",
    "from_gemini_session": "transcripts.gemini_session",
    "from_mini_swe_agent": "transcripts.mini_swe_agent",
    "from_openhands": "transcripts.openhands",
    "from_swe_agent": "transcripts.swe_agent",
}

if not TYPE_CHECKING:
    __getattr__ = lazily(__name__, _HOMES)


def __dir__() -> "list[str]":
    return sorted({*globals(), *__all__})
