"""What happened in a run beside its tool calls, as far as it was recorded."""

from dataclasses import dataclass
from typing import Any, Optional

from ..short_repr import repr_of_fields
from ..stability import beta


@beta
@dataclass(frozen=True)
class RunEvent:
    """One event of a recorded run, beside its calls and results.

    Detectors look only at calls and results. Events help to judge a run as a whole: what it cost,
    what failed, which agent handed over to which. A tool call is also an event if the format
    records more of it, e.g. how long it took. What was not recorded is None.
    """

    type: str
    """``tool_call_completed``, ``llm_call_completed``, ``retry_triggered``, ``state_updated``,
    ``memory_write``, ``handoff_started``, ``user_message``, ``run_failed``, or a recorder's own
    word."""
    step: int = 0
    """How many calls came before it; for a tool call: its index in the run's calls."""
    tool: Optional[str] = None
    """Which tool it is about."""
    agent: Optional[str] = None
    """Which agent did it."""
    to_agent: Optional[str] = None
    """For a handoff: who goes on."""
    model: Optional[str] = None
    """Which model answered."""
    time_s: Optional[float] = None
    """When it began, in seconds since 1970."""
    latency_ms: Optional[float] = None
    """How long it took."""
    cost: Optional[float] = None
    """What it cost, in the recorder's currency."""
    input_tokens: Optional[int] = None
    """What the model read."""
    output_tokens: Optional[int] = None
    """What the model wrote."""
    tokens: Optional[int] = None
    """Both together; also known where the parts are not."""
    error: Optional[str] = None
    """What went wrong; empty text where only that something did is known."""
    input: Any = None
    """What went in, as JSON; not repeated for tool calls, which have it among the run's calls."""
    output: Any = None
    """What came out, as JSON; not repeated for tool calls."""
    cached_tokens: Optional[int] = None
    """How much of what the model read came from a cache."""

    __repr__ = repr_of_fields

    @property
    def latency_s(self) -> Optional[float]:
        """How long it took, in seconds."""
        return None if self.latency_ms is None else self.latency_ms / 1000
