"""The model that answered, and the tokens that it read and wrote."""

from dataclasses import dataclass
from typing import Any, Callable, Iterable, Optional, Union

from ..._amounts import total, whole_number
from ...formats._internal import field_of, optional_text
from .._recorded_run import RunEvent

_DETAILS = ("prompt_tokens_details", "input_tokens_details", "input_token_details")
_CACHED = (
    *("cached_tokens", "cache_read_input_tokens", "cached_input_tokens", "cache_read_tokens"),
    *("cacheReadInputTokens", "input_tokens_cache_read", "cache_read"),
    *("cachedContentTokenCount", "cached_content_token_count", "cached"),
)


@dataclass(frozen=True)
class ReplyUsage:
    """The usage of one reply of a model, or of a whole run; None where it is not recorded."""

    model: Optional[str] = None
    """The model; of several the first."""
    input_tokens: Optional[int] = None
    """The tokens that it read, cached or not."""
    output_tokens: Optional[int] = None
    cached_tokens: Optional[int] = None
    """The part of the tokens read that came from a cache."""

    def beyond(self, earlier: "ReplyUsage") -> "ReplyUsage":
        """Return what was used since an earlier sum; all of it if counting started again."""
        return ReplyUsage(
            self.model,
            _difference(self.input_tokens, earlier.input_tokens),
            _difference(self.output_tokens, earlier.output_tokens),
            _difference(self.cached_tokens, earlier.cached_tokens),
        )


def usage_of(model: Any, amounts: Any, read: Iterable[str], written: Iterable[str]) -> ReplyUsage:
    """Read a usage record; ``read`` and ``written`` name the fields that add up to each side.

    >>> usage_of("m", {"input": 3, "cached": "4"}, ["input", "cached"], ["output"])
    ReplyUsage(model='m', input_tokens=7, output_tokens=None, cached_tokens=4)
    """
    sides = _sum(amounts, read), _sum(amounts, written)
    return ReplyUsage(optional_text(model), *sides, _cached(amounts))


def usage_in(
    model: str, read: Iterable[str], written: Iterable[str]
) -> Callable[[Any], ReplyUsage]:
    """Make what reads the ``usage`` of a reply that has its model in this field."""
    return lambda reply: usage_of(field_of(reply, model), field_of(reply, "usage"), read, written)


chat_usage = usage_in("model", ("prompt_tokens",), ("completion_tokens",))
"""Reads what a reply of OpenAI's chat API, or of one like it, says of itself."""


def reply_event(
    step: int,
    usage: ReplyUsage,
    *,
    agent: Optional[str] = None,
    time_s: Optional[float] = None,
    cost: Optional[float] = None,
) -> RunEvent:
    """Make the event of a model's reply that came after ``step`` calls."""
    return RunEvent(
        "llm_call_completed",
        step,
        agent=agent,
        model=usage.model,
        time_s=time_s,
        cost=cost,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        tokens=total([usage.input_tokens, usage.output_tokens]),
        cached_tokens=usage.cached_tokens,
    )


def total_usage(usages: Iterable[Union[ReplyUsage, RunEvent]]) -> ReplyUsage:
    """Add up the replies of a run."""
    found = list(usages)
    return ReplyUsage(
        next((usage.model for usage in found if usage.model), None),
        total(usage.input_tokens for usage in found),
        total(usage.output_tokens for usage in found),
        total(usage.cached_tokens for usage in found),
    )


def _cached(amounts: Any) -> Optional[int]:
    """Return what came from a cache; APIs write it beside the other amounts or within one."""
    holders = [amounts, *(field_of(amounts, name) for name in _DETAILS)]
    counts = (whole_number(field_of(each, name)) for each in holders for name in _CACHED)
    return next((count for count in counts if count is not None), None)


def _difference(now: Optional[int], before: Optional[int]) -> Optional[int]:
    return now if now is None or before is None or now < before else now - before


def _sum(amounts: Any, names: Iterable[str]) -> Optional[int]:
    return total(whole_number(field_of(amounts, name)) for name in names)
