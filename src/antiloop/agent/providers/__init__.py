"""Model providers: the protocol, the scripted one, and one file per real SDK."""

from ...lazy import lazily
from .protocol import ModelReply, ModelRequest, Provider, StreamItem, ToolSchema, Usage
from .scripted import ScriptedProvider

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .anthropic import AnthropicProvider
    from .openai import OpenAIProvider

__all__ = [
    "AnthropicProvider",
    "ModelReply",
    "ModelRequest",
    "OpenAIProvider",
    "Provider",
    "ScriptedProvider",
    "StreamItem",
    "ToolSchema",
    "Usage",
]

if not TYPE_CHECKING:
    __getattr__ = lazily(__name__, {"AnthropicProvider": "anthropic", "OpenAIProvider": "openai"})


def __dir__() -> "list[str]":
    return sorted({*globals(), *__all__})
