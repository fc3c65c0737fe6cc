"""The types that every part of the library shares: messages, tool calls and their results."""

# Type checkers list a class from a private module alone, and not each of its fields beside it.
from ._types import Image, Message, PartialResult, Role, ToolCall, ToolResult

__all__ = ["Image", "Message", "PartialResult", "Role", "ToolCall", "ToolResult"]
