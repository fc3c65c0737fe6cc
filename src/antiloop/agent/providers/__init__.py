"""Model providers: the protocol, the scripted one, and one file per real SDK."""

from .protocol import ModelReply, ModelRequest, Provider, StreamItem, ToolSchema, Usage
from .scripted import ScriptedProvider

__all__ = [
    "ModelReply",
    "ModelRequest",
    "Provider",
    "ScriptedProvider",
    "StreamItem",
    "ToolSchema",
    "Usage",
]
