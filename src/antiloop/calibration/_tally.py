"""Count what a detector would have done to runs that went well."""

from dataclasses import dataclass
from typing import Dict, Iterable, Iterator, Optional, Tuple, cast

from .._short_repr import repr_of_fields
from ..loop_detection import LoopAction, LoopDetection, LoopDetector
from ..loop_detection._internal import check_detector
from ..stability import beta
from ..traces import RecordedRun, replay
from ..traces._internal import check_run


@beta
@dataclass(frozen=True)
class FalseStop:
    """The first call for a block, a stop or an exception in a run that went well."""

    run: RecordedRun
    """The run that it happened to."""
    step: int
    """The index of the call after which it happened, counted from 0."""
    action: LoopAction
    """The action that was due."""
    began: LoopDetection
    """The first finding of the loop: what would have to be found later, for this not to happen."""

    __repr__ = repr_of_fields


@beta
@dataclass(frozen=True)
class Tally:
    """Count the runs that received a notice or were stopped."""

    runs: int
    """The number of runs that were looked at."""
    notified: int
    """Runs in which the model would have received a notice, apart from the one that stopped it."""
    stops: Tuple[FalseStop, ...]
    """One for each run that would have been stopped, in the order of the runs."""

    __repr__ = repr_of_fields


@beta
def tally(runs: Iterable[RecordedRun], detector: LoopDetector) -> Tally:
    """Replay runs, each up to its first stop, and count.

    Raises:
        TypeError: for anything but recorded runs and a detector.
    """
    check_detector("tally takes", detector)
    outcomes = []
    for run in runs:
        check_run("tally", run)
        outcomes.append(_outcome(run, detector))
    return Tally(
        runs=len(outcomes),
        notified=sum(is_notified for is_notified, _ in outcomes),
        stops=tuple(stop for _, stop in outcomes if stop is not None),
    )


def false_stops(runs: Iterable[RecordedRun], detector: LoopDetector) -> Iterator[FalseStop]:
    """Yield what would have stopped the runs, one at most for each."""
    for run in runs:
        stop = _outcome(run, detector)[1]
        if stop is not None:
            yield stop


def _outcome(run: RecordedRun, detector: LoopDetector) -> Tuple[bool, Optional[FalseStop]]:
    began: Dict[str, LoopDetection] = {}
    for step, verdict in replay(run, detector):
        # A verdict that is more than to go on always has one.
        found = cast(LoopDetection, verdict.detection)
        first = began.setdefault(found.identity, found)
        if verdict.action is not LoopAction.NOTIFY:
            notices = len(began) - 1 if first is found else len(began)
            return notices > 0, FalseStop(run, step, verdict.action, first)
    return bool(began), None
