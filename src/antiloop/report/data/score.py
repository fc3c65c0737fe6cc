"""The score of a run on the page, and what it is made of.

The score of a run's health ends at 0, where most stuck runs meet. This one goes on: each wasted
call takes a point, so that of two stuck runs the one that wasted more is the lower one.
"""

from math import floor
from typing import List, NamedTuple

from ...health import HealthProfile, HealthReport, HealthStatus

WHOLE = 100
"""What a run starts with."""


class Entry(NamedTuple):
    """One line of the score."""

    name: str
    """A rule of health, ``failed`` or ``wasted calls``."""
    points: float
    """What it takes, as a number below 0."""


def entries_of(health: HealthReport) -> List[Entry]:
    """Return what takes points from a run."""
    entries = [Entry(each.name, -each.penalty) for each in health.warnings if each.penalty]
    if health.status is HealthStatus.FAILED:
        entries.append(Entry("failed", -_failure_penalty(health, entries)))
    if health.wasted_calls:
        entries.append(Entry("wasted calls", -health.wasted_calls))
    return entries


def score_of(health: HealthReport) -> int:
    """Add the lines up: 100 for a run with nothing wrong, without a lower end.

    >>> from antiloop.health import HealthReport, HealthStatus
    >>> stuck = [HealthReport(0, HealthStatus.LIKELY_STUCK, wasted_calls=n) for n in (9, 400)]
    >>> [score_of(each) for each in stuck]
    [91, -300]
    """
    return floor(WHOLE + sum(each.points for each in entries_of(health)))


def _failure_penalty(health: HealthReport, entries: List[Entry]) -> float:
    """Return what the failure took: what the score lacks, or the usual if the score is 0."""
    if health.score:
        return max(0, WHOLE + sum(each.points for each in entries) - health.score)
    return HealthProfile.failure_penalty
