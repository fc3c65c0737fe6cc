"""Replay of a recorded run: the verdicts that a detector would have given."""

from typing import Iterator, Mapping, Optional, Tuple

from ..formats._internal import verdicts_of
from ..loop_detection import LoopDetector, LoopMonitor, LoopVerdict, ToolPolicy
from ..loop_detection._internal import check_detector
from ..stability import stable
from ._recorded_run import RecordedRun, check_run


@stable
def replay(run: RecordedRun, detector: LoopDetector) -> Iterator[Tuple[int, LoopVerdict]]:
    """Feed a run to a new monitor, round by round, and yield its verdicts.

    A recorded run goes on after a verdict, even if a live run would have ended there, so the
    replay yields all verdicts. A live run gets the same ones from the same engine.

    Yields:
        The index of the last step of the round, counted from 0, and the verdict. Verdicts with the
        action ``continue`` are left out. A verdict on what the model said has the step before it.

    Raises:
        TypeError: for anything but a recorded run and a detector, at the first step.
    """
    check_run("replay", run)
    check_detector("replay takes", detector)
    yield from verdicts_of(replaying(run, detector), run)


def replaying(
    run: RecordedRun, detector: LoopDetector, tools: Optional[Mapping[str, ToolPolicy]] = None
) -> LoopMonitor:
    """Make the monitor of a replay: no one is asked, and the recorded opinions count."""
    return detector.monitor(
        tools=tools,
        client=run.client,
        run_id=run.run_id,
        live=False,
        can_ask=False,
        opinions=dict(run.opinions),
    )
