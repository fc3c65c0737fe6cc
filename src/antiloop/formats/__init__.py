"""Conversations in many formats, read as tool calls and their results.

``messages`` reads message lists of LLM APIs and frameworks, ``transcripts`` the sessions of coding
agents and benchmarks, ``spans`` traces and what tools for observability export. There is one file
for each format, with a pure function that returns a :class:`History`. Messages may be plain JSON or
a library's own objects; nothing is imported from that library.
"""

from typing import TYPE_CHECKING

from .._lazy import by_name, lazily

if TYPE_CHECKING:
    from ._history import History, TextMessage, rounds_of
    from ._history_builder import HistoryBuilder
    from ._messages.adk import from_adk
    from ._messages.agent_framework import from_agent_framework
    from ._messages.anthropic import from_anthropic
    from ._messages.gemini import from_gemini
    from ._messages.inspect_ai import from_inspect
    from ._messages.langchain import from_langchain
    from ._messages.openai_chat import from_openai_chat
    from ._messages.openai_responses import from_openai_responses
    from ._messages.pydantic_ai import from_pydantic_ai
    from ._messages.strands import from_strands
    from ._spans.observability import from_langfuse, from_langsmith, from_phoenix, from_weave
    from ._spans.otlp import from_otlp
    from ._transcripts.atif import from_atif
    from ._transcripts.claude_transcript import from_claude_transcript
    from ._transcripts.codex import from_codex_rollout
    from ._transcripts.gemini_session import from_gemini_session
    from ._transcripts.mini_swe_agent import from_mini_swe_agent
    from ._transcripts.openhands import from_openhands
    from ._transcripts.swe_agent import from_swe_agent

__all__ = [
    "History",
    "HistoryBuilder",
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
    "_history": "History TextMessage rounds_of",
    "_history_builder": "HistoryBuilder",
    "_messages.adk": "from_adk",
    "_messages.agent_framework": "from_agent_framework",
    "_messages.anthropic": "from_anthropic",
    "_messages.gemini": "from_gemini",
    "_messages.inspect_ai": "from_inspect",
    "_messages.langchain": "from_langchain",
    "_messages.openai_chat": "from_openai_chat",
    "_messages.openai_responses": "from_openai_responses",
    "_messages.pydantic_ai": "from_pydantic_ai",
    "_messages.strands": "from_strands",
    "_spans.observability": "from_langfuse from_langsmith from_phoenix from_weave",
    "_spans.otlp": "from_otlp",
    "_transcripts.atif": "from_atif",
    "_transcripts.claude_transcript": "from_claude_transcript",
    "_transcripts.codex": "from_codex_rollout",
    "_transcripts.gemini_session": "from_gemini_session",
    "_transcripts.mini_swe_agent": "from_mini_swe_agent",
    "_transcripts.openhands": "from_openhands",
    "_transcripts.swe_agent": "from_swe_agent",
}

if not TYPE_CHECKING:
    __getattr__ = lazily(__name__, by_name(_HOMES))
