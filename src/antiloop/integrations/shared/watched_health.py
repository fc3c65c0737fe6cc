"""What an adapter reports about a run's health; `HealthWatch` receives it."""

from typing import Any, Callable, Optional, Protocol, Sequence

from ...formats import History
from ...formats.spans.agent_span import AgentSpan
from ...types import ToolCall, ToolResult


class ConversationWatch(Protocol):
    """Reads what is new in a conversation."""

    def follow(
        self, run_id: str, messages: Sequence[Any], read: Callable[[Sequence[Any]], History]
    ) -> None:
        """Take what a conversation has more than the last time."""


class SpanWatch(Protocol):
    """Takes rounds, and what spans know beside them."""

    def add_round(
        self, run_id: str, calls: Sequence[ToolCall], results: Sequence[Optional[ToolResult]]
    ) -> None:
        """Take calls and their results."""

    def user_message(self, run_id: str) -> None:
        """Note that the user spoke."""

    def add_span(self, run_id: str, one: AgentSpan) -> None:
        """Take the span of a tool, after its call, or of a model."""

    def add_agent(self, run_id: str, one: AgentSpan) -> None:
        """Take the span of an agent."""
