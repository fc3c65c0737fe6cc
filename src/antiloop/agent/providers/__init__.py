"""Model providers, one file for each SDK, and the protocol that they follow."""

from typing import TYPE_CHECKING

from ..._lazy import by_name, lazily

if TYPE_CHECKING:
    from ._anthropic import AnthropicProvider
    from ._openai import OpenAIProvider
    from ._protocol import ModelReply, ModelRequest, Provider, StreamItem, ToolSchema, Usage
    from ._scripted import ScriptedProvider

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
    _HOMES = {
        "_anthropic": "AnthropicProvider",
        "_openai": "OpenAIProvider",
        "_protocol": "ModelReply ModelRequest Provider StreamItem ToolSchema Usage",
        "_scripted": "ScriptedProvider",
    }
    __getattr__ = lazily(__name__, by_name(_HOMES))
