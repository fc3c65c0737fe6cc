"""Message lists of LLM APIs and frameworks, read as tool calls and their results.

One file per format, each a pure function from a message list to a :class:`History`. The messages
may be plain JSON or a library's own objects; nothing is imported from that library.
"""

from ..lazy import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .adk import from_adk
    from .agent_framework import from_agent_framework
    from .anthropic import from_anthropic
    from .atif import from_atif
    from .claude_transcript import from_claude_transcript
    from .codex import from_codex_rollout
    from .gemini import from_gemini
    from .gemini_session import from_gemini_session
    from .history import History, rounds_of
    from .inspect_ai import from_inspect
    from .langchain import from_langchain
    from .mini_swe_agent import from_mini_swe_agent
    from .observability import from_langfuse, from_langsmith, from_phoenix, from_weave
    from .openai_chat import from_openai_chat
    from .openai_responses import from_openai_responses
    from .openhands import from_openhands
    from .otlp import from_otlp
    from .pydantic_ai import from_pydantic_ai
    from .strands import from_strands
    from .swe_agent import from_swe_agent
    from .text_message import TextMessage

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
    "from_langfuse": "observability",
    "from_langsmith": "observability",
    "from_phoenix": "observability",
    "from_weave": "observability",
    "from_adk": "adk",
    "from_agent_framework": "agent_framework",
    "from_anthropic": "anthropic",
    "from_atif": "atif",
    "from_claude_transcript": "claude_transcript",
    "from_codex_rollout": "codex",
    "from_gemini": "gemini",
    "from_gemini_session": "gemini_session",
    "History": "history",
    "rounds_of": "history",
    "from_inspect": "inspect_ai",
    "from_langchain": "langchain",
    "from_mini_swe_agent": "mini_swe_agent",
    "from_openai_chat": "openai_chat",
    "from_openai_responses": "openai_responses",
    "from_openhands": "openhands",
    "from_otlp": "otlp",
    "from_pydantic_ai": "pydantic_ai",
    "from_strands": "strands",
    "from_swe_agent": "swe_agent",
    "TextMessage": "text_message",
}

if not TYPE_CHECKING:
    __getattr__ = lazily(__name__, _HOMES)


def __dir__() -> "list[str]":
    return sorted({*globals(), *__all__})
