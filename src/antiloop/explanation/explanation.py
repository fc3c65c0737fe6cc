"""One step of a run, and all that led to what was said there."""

from dataclasses import dataclass
from typing import Optional, Tuple

from ..loop_detection import LoopDetector, LoopMonitor, LoopVerdict
from ..stability import beta
from ..traces import RecordedRun, replay
from .counting import Count, counts_of
from .matching import Match, matches_in
from .rungs import Rung, rungs_of


@beta
@dataclass(frozen=True)
class Explanation:
    """What was known when a round was judged, and what came of it."""

    step: int
    """The last step of the round, counted from 0."""
    verdict: LoopVerdict
    """What was said."""
    matches: Tuple[Match, ...]
    """The calls of the round, and what the window holds that is equal to them."""
    counts: Tuple[Count, ...]
    """What the detectors counted, in their order; one may count two things."""
    rungs: Tuple[Rung, ...]
    """The loops that are remembered, the one met longest ago first."""
    window_size: int
    """How many calls the window can hold."""
    window_start: int
    """The first step that it holds."""
    window_rounds: int
    """How many rounds it holds."""
    turn_start: int
    """The first step after the user's last message, 0 if there was none."""
    changes: Tuple[int, ...]
    """Steps in the window that changed the world in a new way."""
    news: int
    """Rounds in the window that had a new answer."""


@beta
def explain(run: RecordedRun, detector: LoopDetector, step: Optional[int] = None) -> Explanation:
    """Say why a verdict fell at a step of a run, or why none did.

    Args:
        run: the run.
        detector: who judges it.
        step: any step of the round in question, counted from 0; where left out, the first step
            with a verdict, or else the last one.

    Raises:
        ValueError: if the run has no such step.
    """
    if not len(run):
        raise ValueError(f"run {run.run_id!r} has no steps")
    if step is None:
        step = next((step for step, _ in replay(run, detector)), len(run) - 1)
    if not 0 <= step < len(run):
        raise ValueError(f"run {run.run_id!r} has {len(run)} steps, counted from 0; got {step}")
    monitor = detector.monitor()
    monitor.consultation.begin(run.run_id, dict(run.opinions), is_possible=False)
    *earlier, last = (bounds for bounds in run.rounds() if bounds[0] <= step)
    for start, stop in earlier:
        _judge(monitor, run, start, stop)
    before = monitor.snapshot()
    verdict = _judge(monitor, run, *last)
    window = monitor.window
    rounds = window.rounds
    return Explanation(
        last[1] - 1,
        verdict,
        tuple(matches_in(window)),
        tuple(count for each in detector.detectors for count in counts_of(each, window)),
        tuple(rungs_of(detector, before, monitor.snapshot())),
        detector.window,
        rounds[0].evidence[0].index if rounds else last[1],
        len(rounds),
        window.turn_start,
        tuple(item.index for item in window if item.is_change),
        sum(any(item.is_fresh for item in each.evidence) for each in rounds),
    )


def _judge(monitor: LoopMonitor, run: RecordedRun, start: int, stop: int) -> LoopVerdict:
    if start in run.turn_starts:
        monitor.user_message()
    return monitor.after(run.calls[start:stop], run.results[start:stop])
