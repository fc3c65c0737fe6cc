"""Count the good runs that a detector stops, and find the thresholds that leave them alone."""

from dataclasses import dataclass, field
from itertools import islice
from math import inf
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    cast,
)

from .._checks import check_kind, is_number
from .._short_repr import Shown
from ..loop_detection import LoopAction, LoopDetection, LoopDetector, ToolPolicy
from ..loop_detection._internal import check_detector
from ..stability import beta
from ..traces import RecordedRun, replay
from ..traces._internal import check_run
from ._bound import runs_needed, stops_allowed, upper_bound
from ._thresholds import Change, Thresholds, changes

Progress = Callable[[str], None]
"""Called now and then with a short text about the current work."""


@beta
@dataclass(frozen=True, repr=False)
class FalseStop(Shown):
    """The first call for a block, a stop or an exception in a run that went well."""

    run: RecordedRun
    """The run that it happened to."""
    step: int
    """The index of the call after which it happened, counted from 0."""
    action: LoopAction
    """The action that was due."""
    began: LoopDetection
    """The first finding of the loop: what would have to be found later, for this not to happen."""


@beta
@dataclass(frozen=True, repr=False)
class Tally(Shown):
    """Count the runs that received a notice or were stopped."""

    runs: int
    """The number of runs that were looked at."""
    notified: int
    """Runs in which the model would have received a notice, apart from the one that stopped it."""
    stops: Tuple[FalseStop, ...]
    """One for each run that would have been stopped, in the order of the runs."""


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


@beta
@dataclass(frozen=True, repr=False)
class Calibration(Shown):
    """Show what a detector did to good runs, what it does with new thresholds, and both bounds.

    The bound is exact for the old thresholds. New thresholds look a little better than they are,
    because they are judged by the runs that they were chosen for. Calibrate the result again on
    other runs: if no threshold has to be raised, the bound is exact.
    """

    config: Mapping[str, Any] = field(hash=False)
    """The configuration, for `LoopDetector.from_config`."""
    before: Tally
    """The notices and stops with the old thresholds."""
    after: Tally
    """The notices and stops with the new ones."""
    changes: Tuple[Change, ...]
    """The changes from the old thresholds to the new ones."""
    max_false_stops: float
    """The share of good runs that may be stopped."""
    confidence: float
    """The confidence with which the share is to stay under that."""

    @property
    def share_before(self) -> float:
        """The share of stopped runs that the figures before support."""
        return upper_bound(len(self.before.stops), self.before.runs, self.confidence)

    @property
    def share_after(self) -> float:
        """The share of stopped runs that the figures after support."""
        return upper_bound(len(self.after.stops), self.after.runs, self.confidence)

    @property
    def stops_allowed(self) -> int:
        """Return how many of these runs may be stopped; -1 if they are too few."""
        return stops_allowed(self.after.runs, self.max_false_stops, self.confidence)

    @property
    def holds(self) -> bool:
        """Whether the share of stopped runs stays under what was asked for."""
        return len(self.after.stops) <= self.stops_allowed

    @property
    def runs_needed(self) -> int:
        """Return how many runs, as many of them stopped, it takes to support what was asked for."""
        return runs_needed(len(self.after.stops), self.max_false_stops, self.confidence)


@beta
def calibrate(
    runs: Iterable[RecordedRun],
    detector: LoopDetector,
    *,
    max_false_stops: float = 0.01,
    confidence: float = 0.95,
    max_raise: float = inf,
    by_tool: bool = False,
    policies: Optional[Mapping[str, ToolPolicy]] = None,
    on_progress: Progress = lambda _: None,
) -> Calibration:
    """Raise thresholds until they stop at most the allowed share of good runs.

    A threshold that stopped a good run is raised step by step, until no more runs are stopped than
    the bound allows, or none if the runs are too few for the bound. Then each step that is not
    needed is taken back, so that no threshold could be a step lower. A threshold that stopped no
    good run stays the same. The same runs give the same thresholds.

    Args:
        runs: recorded runs that went well; all are held in memory.
        detector: where to start from.
        max_false_stops: the share of good runs that may be stopped.
        confidence: the confidence with which the share holds.
        max_raise: no threshold becomes as many times as high, or higher: good runs that would need
            it are stopped still, because they look like loops.
        by_tool: where all good runs that a detector stopped repeat calls of one tool, raise the
            threshold for this tool alone, so that loops of other tools are found as before.
        policies: declarations to add for tools, by name, in place of those that the detector has;
            thresholds are raised only for what these leave.
        on_progress: called now and then with a short text about the current work.

    Raises:
        TypeError: for anything but recorded runs, a detector and declarations by name.
        ValueError: for a share or confidence outside 0 to 1, a `max_raise` of 1 or less, or a
            detector that holds code.
    """
    check_detector("calibrate takes", detector)
    if not (is_number(max_raise) and max_raise > 1):
        raise ValueError(f"max_raise must be more than 1, got {max_raise!r}")
    runs = list(runs)
    for each in runs:
        check_run("calibrate", each)
    remedy = "pass {name: ToolPolicy(...)}"
    check_kind("policies must be a mapping", policies, (Mapping, type(None)), remedy)
    allowed = max(0, stops_allowed(len(runs), max_false_stops, confidence))
    declared = {**detector.tools, **(policies or {})}
    thresholds = Thresholds(detector.with_options(tools=declared), max_raise)
    on_progress("replaying all runs")
    before = after = tally(runs, detector)
    if policies:
        after = tally(runs, thresholds.detector())
    if by_tool:
        thresholds.declare_tools([stop.began for stop in after.stops])
    suspects: Dict[int, RecordedRun] = {}
    while len(after.stops) > allowed and _grows(suspects, after):
        _fit(thresholds, list(suspects.values()), allowed, on_progress)
        # Higher thresholds mostly stop fewer runs, but a loop that is found later may be found as
        # one with a shorter lap.
        on_progress("replaying all runs")
        after = tally(runs, thresholds.detector())
    changed = changes(detector, thresholds.detector())
    return Calibration(thresholds.config(), before, after, changed, max_false_stops, confidence)


def _grows(suspects: Dict[int, RecordedRun], seen: Tally) -> bool:
    """Add the runs that were stopped; say whether there were new ones."""
    known = len(suspects)
    suspects.update((id(stop.run), stop.run) for stop in seen.stops)
    return len(suspects) > known


def _fit(
    thresholds: Thresholds, runs: List[RecordedRun], allowed: int, on_progress: Progress
) -> None:
    stops = list(false_stops(runs, thresholds.detector()))
    while len(stops) > allowed:
        on_progress(f"good runs still stopped: {len(stops):,}")
        if not _raise_for(thresholds, stops):
            break
        stops = list(false_stops(runs, thresholds.detector()))
    for place in thresholds.raised():
        on_progress("taking back what is not needed")
        _take_back(thresholds, place, runs, max(allowed, len(stops)))


def _raise_for(thresholds: Thresholds, stops: Sequence[FalseStop]) -> bool:
    """Raise what stopped these runs, each by one step; say whether anything could be raised."""
    reached = [(thresholds.reached(stop.began), stop.began.detector_name) for stop in stops]
    raised = [thresholds.raise_one(*each) for each in dict.fromkeys(reached)]
    return any(raised)


def _take_back(
    thresholds: Thresholds, place: Any, runs: Sequence[RecordedRun], allowed: int
) -> None:
    """Take steps back as long as no more runs are stopped than allowed."""
    while place in thresholds.raised():
        value = thresholds.lower_one(place)
        stopped = islice(false_stops(runs, thresholds.detector()), allowed + 1)
        if len(list(stopped)) > allowed:
            thresholds.push(place, value)
            return
