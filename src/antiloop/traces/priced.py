"""What a recorded run cost, by prices, where the recording does not say it."""

from dataclasses import replace
from typing import Optional

from ..prices import Prices
from .recorded_run import RecordedRun
from .run_event import RunEvent


def priced(run: RecordedRun, prices: Optional[Prices]) -> RecordedRun:
    """Return a run with the costs of its replies, and of the whole where only its sums are known.

    A cost that was recorded stays. Replies without a model are those of the run's.
    """
    if prices is None:
        return run
    events = tuple(_priced(event, run.model, prices) for event in run.events)
    cost, is_known = run.cost, any(event.cost is not None for event in events)
    if cost is None and not is_known:
        cost = prices.cost(run.model, run.input_tokens, run.output_tokens, run.cached_tokens)
    return replace(run, events=events, cost=cost)


def _priced(event: RunEvent, model: Optional[str], prices: Prices) -> RunEvent:
    cost = cost_of(event, prices, model)
    return event if cost == event.cost else replace(event, cost=cost)


def cost_of(event: RunEvent, prices: Prices, model: Optional[str] = None) -> Optional[float]:
    """Return what an event cost: as recorded, else by the prices; None where neither is known."""
    if event.cost is not None:
        return event.cost
    amounts = event.input_tokens, event.output_tokens, event.cached_tokens
    return prices.cost(event.model or model, *amounts)
