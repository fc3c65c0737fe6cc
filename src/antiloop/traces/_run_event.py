"""Events of a run beside its tool calls, as far as they were recorded."""

from dataclasses import dataclass
from typing import Any, Optional

from .._short_repr import repr_of_fields
from ..prices import Prices
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
    """The number of calls before it; for a tool call: its index in the run's calls."""
    tool: Optional[str] = None
    """The tool that the event is about."""
    agent: Optional[str] = None
    """The agent that did it."""
    to_agent: Optional[str] = None
    """For a handoff: who goes on."""
    model: Optional[str] = None
    """The model that answered."""
    time_s: Optional[float] = None
    """The time at which it began, in seconds since 1970."""
    latency_ms: Optional[float] = None
    """The time that it took."""
    cost: Optional[float] = None
    """The cost, in the recorder's currency."""
    input_tokens: Optional[int] = None
    """The tokens that the model read."""
    output_tokens: Optional[int] = None
    """The tokens that the model wrote."""
    tokens: Optional[int] = None
    """Both together; also known where the parts are not."""
    error: Optional[str] = None
    """The error; empty text where only that one occurred is known."""
    input: Any = None
    """The input, as JSON; not repeated for tool calls, which have it among the run's calls."""
    output: Any = None
    """The output, as JSON; not repeated for tool calls."""
    cached_tokens: Optional[int] = None
    """The part of the tokens read by the model that came from a cache."""

    __repr__ = repr_of_fields

    @property
    def latency_s(self) -> Optional[float]:
        """Return the time that it took, in seconds."""
        return None if self.latency_ms is None else self.latency_ms / 1000

    def cost_by(self, prices: Prices, model: Optional[str] = None) -> Optional[float]:
        """Return the cost: as recorded, otherwise by the prices; None if neither is known.

        Args:
            prices: the prices of models.
            model: the model of the run, for an event that names none.
        """
        if self.cost is not None:
            return self.cost
        amounts = self.input_tokens, self.output_tokens, self.cached_tokens
        return prices.cost(self.model or model, *amounts)
