"""Rules over a whole run: warnings that say what to try, and a score.

>>> from antiloop import ToolCall, health
>>> from antiloop.traces import RecordedRun
>>> calls = tuple(ToolCall("search", {"q": "cats"}) for _ in range(4))
>>> report = health.evaluate(RecordedRun("a1", calls))
>>> report.status.value, report.warnings[0].name, report.warnings[0].step
('Likely stuck', 'loop_repeat', 2)
"""

from dataclasses import replace
from typing import Iterator, Optional, Union

from .._checks import check_flag
from ..formats import TextMessage
from ..formats._internal import Moment, moments_of
from ..stability import beta
from ..traces import RecordedRun, RunEvent
from ..traces._internal import check_run
from ._monitor import HealthMonitor
from ._numbers import budget_from_environment
from ._profile import HealthProfile, check_profile
from ._report import HealthReport, HealthStatus, HealthWarning
from ._rules import RULES, HealthRule, is_of_call
from ._watch import HealthWatch

__all__ = [
    "RULES",
    "HealthMonitor",
    "HealthProfile",
    "HealthReport",
    "HealthRule",
    "HealthStatus",
    "HealthWarning",
    "HealthWatch",
    "evaluate",
]


@beta
def evaluate(
    run: RecordedRun,
    *,
    literal: bool = False,
    profile: Optional[HealthProfile] = None,
    cost_budget: Optional[float] = None,
) -> HealthReport:
    """Judge a recorded run.

    Args:
        run: as `antiloop.traces.read_runs` yields it.
        literal: apply the table of rules exactly, instead of asking for evidence.
        profile: rules and numbers of your own.
        cost_budget: what the run may cost; else what the profile or the environment variable
            ``ANTILOOP_COST_BUDGET`` says, or no budget.

    Raises:
        TypeError: for anything but a recorded run and a `HealthProfile`, or if `literal` is not
            True or False.
        ValueError: if the environment variable is needed and is not a number.
    """
    check_run("evaluate", run)
    check_flag("literal", literal)
    check_profile(profile)
    chosen = profile or HealthProfile()
    chosen = chosen.literal() if literal else chosen
    if cost_budget is None:
        cost_budget = (
            budget_from_environment() if chosen.cost_budget is None else chosen.cost_budget
        )
    run = run.priced(chosen.prices)
    monitor = HealthMonitor(replace(chosen, cost_budget=cost_budget))
    monitor.take_opinions(dict(run.opinions), run.client)
    for item in _timeline(run):
        if isinstance(item, RunEvent):
            monitor.add(item)
        elif isinstance(item, TextMessage):
            monitor.add_message(item)
        else:
            start, stop = item
            monitor.add_round(run.calls[start:stop], run.results[start:stop])
    monitor.end(failed=run.failed, cost=run.cost)
    return monitor.report()


def _timeline(run: RecordedRun) -> Iterator[Union[RunEvent, Moment]]:
    """Yield events, what was said, and where rounds start and stop, as they happened."""
    moments, fed = moments_of(run), 0
    for event in run.events:
        while fed < min(event.step + is_of_call(event), len(run)):
            moment = next(moments)
            fed = fed if isinstance(moment, TextMessage) else moment[1]
            yield moment
        if event.type != "user_message":  # the turns of a run tell where these are
            yield event
    yield from moments
