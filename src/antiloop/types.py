"""The types that every part of the library shares: messages, tool calls and their results."""

from ._types import Image, Message, PartialResult, Role, ToolCall, ToolResult

__all__ = ["Image", "Message", "PartialResult", "Role", "ToolCall", "ToolResult"]
