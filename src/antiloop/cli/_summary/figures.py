"""Count runs for a summary, and what one run adds to it."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Dict, Iterable, List, Mapping, Optional, Tuple

from ..._amounts import number
from ..._text.masking import SECRETS, Masking
from ...health import HealthReport
from ...loop_detection import LoopVerdict
from ...prices import Prices
from ...report._internal import Loop, Spending, loops_of, moments_of
from ...traces import RecordedRun
from .._output.figures import Figures


@dataclass(frozen=True)
class RunFigures:
    """Hold what one run adds to a summary."""

    began_s: Optional[float]
    """Its earliest time, in seconds since 1970; None where nothing of it has one."""
    agent: Optional[str]
    model: Optional[str]
    whole: Figures
    by_tool: Mapping[str, Figures]
    by_loop: Mapping[str, Tuple[str, Figures]] = field(default_factory=dict)
    """For each different loop, by a key that equal loops share: its name and what it took."""


def figures_of(
    run: RecordedRun,
    health: HealthReport,
    prices: Optional[Prices] = None,
    masking: Masking = SECRETS,
) -> RunFigures:
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
    by_tool, by_loop = _by_tool(run, loops, prices), _by_loop(loops, masking)
    return RunFigures(moments_of(run).began_s, run.agent, run.model, whole, by_tool, by_loop)


def marked_loops(
    run: RecordedRun, verdicts: Iterable[Tuple[int, LoopVerdict]]
) -> List[Tuple[str, Tuple[int, ...]]]:
    """Return the key and the steps of each loop of a run, as a report has them."""
    return [(loop.key, loop.steps) for loop in loops_of(run, verdicts)]


def _by_loop(loops: List[Loop], masking: Masking) -> Dict[str, Tuple[str, Figures]]:
    found: Dict[str, Tuple[str, Figures]] = {}
    for loop in loops:
        name, before = found.get(loop.key, (loop.name(masking), Figures(1)))
        took = Figures(loops=1, calls=len(loop.steps), wasted_calls=len(loop.wasted))
        found[loop.key] = name, before + took
    return found


def _by_tool(run: RecordedRun, loops: List[Loop], prices: Optional[Prices]) -> Dict[str, Figures]:
    calls = Counter(str(call.tool_name) for call in run.calls)
    found = Counter(name for loop in loops for name, _ in loop.tools)
    wasted: Dict[str, List[int]] = {}
    for loop in loops:
        for step in loop.wasted:
            wasted.setdefault(str(run.calls[step].tool_name), []).append(step)
    by_tool = {name: Figures(1, found[name], count) for name, count in calls.items()}
    spending = Spending(run.priced(prices))
    for name, steps in wasted.items():
        by_tool[name] += _waste(spending, steps)
    return by_tool


def _waste(spending: Spending, steps: List[int]) -> Figures:
    spent = spending.on(steps)
    tokens = None if spent.is_estimate else spent.tokens
    return Figures(wasted_calls=len(steps), wasted_tokens=tokens, wasted_cost=spent.cost)
