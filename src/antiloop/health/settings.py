"""What the environment says about health."""

import os
from typing import Optional

from ..formats.amounts import number

BUDGET_VARIABLE = "ANTILOOP_COST_BUDGET"
"""Environment variable with what a run may cost, where nothing else says so."""


def budget_from_environment() -> Optional[float]:
    """Return what a run may cost; None for no budget.

    Raises:
        ValueError: if the environment variable is not an amount.
    """
    given = os.environ.get(BUDGET_VARIABLE)
    budget = number(given or None)
    if given and (budget is None or budget < 0):
        raise ValueError(f"{BUDGET_VARIABLE} must be a number, 0 or more, got {given!r}")
    return budget
