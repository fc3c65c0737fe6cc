"""What is counted of runs for a summary, and what one run adds to it."""

import math
from collections import Counter
from dataclasses import dataclass, fields
from typing import Any, Dict, List, Mapping, Optional

from ...formats.amounts import number
from ...health import HealthReport
from ...prices import Prices
from ...report.data.loops import Loop, loops_of
from ...report.data.spending import Spending
from ...traces import RecordedRun
from ...traces.priced import priced
from ...traces.shared.totals import total


@dataclass(frozen=True)
class Figures:
    """Sums over runs. Tokens and money are None where no run tells them."""

    runs: int = 0
    loops: int = 0
    calls: int = 0
    wasted_calls: int = 0
    """Calls of loops that brought nothing new."""
    wasted_tokens: Optional[int] = None
    cost: Optional[float] = None
    """What the runs cost as a whole; not known of a tool."""
    wasted_cost: Optional[float] = None

    def __add__(self, other: "Figures") -> "Figures":
        names = (each.name for each in fields(self))
        sums: Dict[str, Any] = {
            name: total([getattr(self, name), getattr(other, name)]) for name in names
        }
        return Figures(**sums)

    @property
    def wasted_share(self) -> Optional[float]:
        """Wasted calls by calls, from 0 to 1; None without calls."""
        return self.wasted_calls / self.calls if self.calls else None


@dataclass(frozen=True)
class RunFigures:
    """What one run adds to a summary."""

    began_s: Optional[float]
    """Its earliest time, in seconds since 1970; None where nothing of it has one."""
    agent: Optional[str]
    model: Optional[str]
    whole: Figures
    by_tool: Mapping[str, Figures]


def figures_of(
    run: RecordedRun, health: HealthReport, prices: Optional[Prices] = None
) -> RunFigures:
    """Count a run.

    Args:
        run: the run.
        health: its health report.
        prices: what tokens cost, for a recording without costs.
    """
    loops = loops_of(run, health.verdicts)
    whole = Figures(
        1,
        len(loops),
        len(run),
        health.wasted_calls,
        health.wasted_tokens,
        number(health.cost),
        number(health.wasted_cost),
    )
    by_tool = _by_tool(run, loops, prices)
    return RunFigures(_began_s(run), run.agent, run.model, whole, by_tool)


def _began_s(run: RecordedRun) -> Optional[float]:
    times = (event.time_s for event in run.events if event.time_s is not None)
    return min(filter(math.isfinite, times), default=None)


def _by_tool(run: RecordedRun, loops: List[Loop], prices: Optional[Prices]) -> Dict[str, Figures]:
    calls = Counter(str(call.tool_name) for call in run.calls)
    found = Counter(name for loop in loops for name, _ in loop.tools)
    wasted: Dict[str, List[int]] = {}
    for loop in loops:
        for step in loop.wasted:
            wasted.setdefault(str(run.calls[step].tool_name), []).append(step)
    by_tool = {name: Figures(1, found[name], count) for name, count in calls.items()}
    spending = Spending(priced(run, prices))
    for name, steps in wasted.items():
        by_tool[name] += _waste(spending, steps)
    return by_tool


def _waste(spending: Spending, steps: List[int]) -> Figures:
    spent = spending.on(steps)
    tokens = None if spent.is_estimate else spent.tokens
    return Figures(wasted_calls=len(steps), wasted_tokens=tokens, wasted_cost=spent.cost)
