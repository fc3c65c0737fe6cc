"""Which model answered, and how much it read and wrote."""

from dataclasses import dataclass
from typing import Any, Iterable, Optional

from ..formats.amounts import whole_number
from ..formats.content import field_of, optional_text
from .totals import total


@dataclass(frozen=True)
class Usage:
    """What one reply of a model took, or all of a run; None where it is not recorded."""

    model: Optional[str] = None
    """Which model; of several the first."""
    input_tokens: Optional[int] = None
    """What it read, cached or not."""
    output_tokens: Optional[int] = None
    """What it wrote."""


def usage_of(model: Any, amounts: Any, read: Iterable[str], written: Iterable[str]) -> Usage:
    """Read a usage record; ``read`` and ``written`` name the fields that add up to each side.

    >>> usage_of("m", {"input": 3, "cached": "4"}, ["input", "cached"], ["output"])
    Usage(model='m', input_tokens=7, output_tokens=None)
    """
    return Usage(optional_text(model), _sum(amounts, read), _sum(amounts, written))


def total_usage(usages: Iterable[Usage]) -> Usage:
    """Add up the replies of a run."""
    found = list(usages)
    return Usage(
        next((usage.model for usage in found if usage.model), None),
        total(usage.input_tokens for usage in found),
        total(usage.output_tokens for usage in found),
    )


def _sum(amounts: Any, names: Iterable[str]) -> Optional[int]:
    return total(whole_number(field_of(amounts, name)) for name in names)
