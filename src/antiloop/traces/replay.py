"""What a detector would have said about a recorded run."""

from typing import Iterator, Tuple

from ..formats.moment import every_verdict
from ..loop_detection import LoopAction, LoopDetector, LoopVerdict
from ..stability import beta
from .recorded_run import RecordedRun, check_run


@beta
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
    if not hasattr(detector, "monitor"):
        raise TypeError(
            f"replay takes a LoopDetector, got {detector!r}; pass LoopDetector.default()"
        )
    for step, verdict in replayed(run, detector):
        if verdict.action is not LoopAction.CONTINUE:
            yield step, verdict


def replayed(
    run: RecordedRun, detector: LoopDetector, *, remembers: bool = True
) -> Iterator[Tuple[int, LoopVerdict]]:
    """Yield what `replay` does, and the verdicts to go on that carry a suspicion, too.

    Args:
        run: the run.
        detector: what it is judged by.
        remembers: whether what is derived of the calls stays with them, for further replays.
    """
    monitor = detector.monitor(live=False)
    if not remembers:
        monitor.window.remembers = False
    # Recorded opinions count again; no judge is asked.
    monitor.consultation.begin(run.run_id, dict(run.opinions), is_possible=False)
    yield from every_verdict(monitor, run)
