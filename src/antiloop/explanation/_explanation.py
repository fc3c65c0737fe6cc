"""One step of a run, and all that led to what was said there."""

from dataclasses import dataclass, replace
from itertools import takewhile
from operator import attrgetter
from typing import Any, Iterator, List, Mapping, Optional, Tuple

from .._checks import check_kind
from .._lazy import lazy_method
from .._short_repr import Shown
from .._text.masking import Masking
from ..formats import TextMessage
from ..formats._internal import Moment, moments_of, step_of, verdict_at, without_thoughts
from ..loop_detection import LoopAction, LoopDetector, LoopMonitor, LoopVerdict
from ..loop_detection._internal import GO_ON, RANK, check_detector
from ..stability import beta
from ..traces import RecordedRun, replay
from ..traces._internal import check_run, replaying
from ._counting import Count, counts_of
from ._matching import Match, matches_in


@beta
@dataclass(frozen=True, repr=False)
class Rung(Shown):
    """The ladder of one loop, and how far the loop has climbed."""

    detector: str
    """The name of the detector that found it."""
    identity: str
    """The key by which it is the same loop next time."""
    actions: Tuple[str, ...]
    """Its ladder, mild to strong; after the last action it stays there."""
    climbed: int
    """The number of rungs that it has behind it, also as another loop of the same calls."""
    found: int
    """The number of times that it took a rung itself, this step included."""
    is_found_now: bool
    """Whether it took one at this step."""
    is_refused: bool
    """Whether its calls are refused from here on."""


@beta
@dataclass(frozen=True, repr=False)
class Explanation(Shown):
    """Hold what was known when a round was judged, and what followed."""

    step: int
    """The last step of the round, counted from 0."""
    verdict: LoopVerdict
    """The verdict of the round."""
    matches: Tuple[Match, ...]
    """The calls of the round, and what the window holds that is equal to them."""
    counts: Tuple[Count, ...]
    """The counts of the detectors, in their order; one may count two things."""
    rungs: Tuple[Rung, ...]
    """The loops that are remembered, the one met longest ago first."""
    window_size: int
    """The number of calls that the window can hold."""
    window_start: int
    """The first step that it holds."""
    window_rounds: int
    """The number of rounds that it holds."""
    turn_start: int
    """The first step after the user's last message, 0 if there was none."""
    changes: Tuple[int, ...]
    """Steps in the window that changed the world in a new way."""
    news: int
    """Rounds in the window that had a new answer."""
    messages: Tuple[TextMessage, ...] = ()
    """The messages right before the round, and up to the next one; secrets are masked."""

    _repr_html_ = lazy_method("report._notebook.pictures", "explanation_html")


@beta
def explain(run: RecordedRun, detector: LoopDetector, step: Optional[int] = None) -> Explanation:
    """Explain the verdict at a step of a run, or why there is none.

    Args:
        run: the run.
        detector: judges it.
        step: any step of the round in question, counted from 0; by default the first step
            with a verdict, or else the last one.

    Raises:
        TypeError: for anything but a recorded run, a detector and a whole number.
        ValueError: if the run has no such step.
    """
    check_run("explain", run)
    check_detector("explain takes", detector)
    kinds = (int, type(None))
    check_kind("step must be a whole number or None", step, kinds, "steps are counted from 0")
    run = replace(run, messages=tuple(without_thoughts(run.messages)))
    count = len(run) or bool(run.messages)
    if not count:
        raise ValueError(f"run {run.run_id!r} has no steps")
    if step is None:
        step = next((step for step, _ in replay(run, detector)), count - 1)
    if not 0 <= step < count:
        raise ValueError(f"run {run.run_id!r} has {count} steps, counted from 0; got {step}")
    earlier, these = _parted(run, step)
    monitor = replaying(run, detector)
    for moment in earlier:
        verdict_at(monitor, run, moment)
    before = monitor.snapshot()
    judging = _Judging(detector, monitor, run)
    looks = [judging.look(moment) for moment in these]
    return replace(
        looks[0],
        verdict=judging.verdict,
        counts=looks[0].counts + judging.counts,
        rungs=tuple(rungs_of(detector, before, monitor.snapshot())),
        messages=tuple(_messages_about(earlier, these, detector.masking)),
    )


class _Judging:
    """Judges a round and what was said after it, and keeps the strongest verdict."""

    def __init__(self, detector: LoopDetector, monitor: LoopMonitor, run: RecordedRun) -> None:
        self.verdict = GO_ON
        self.counts: Tuple[Count, ...] = ()
        """The counts of detectors of words."""
        self._detector = detector
        self._monitor = monitor
        self._run = run

    def look(self, moment: Moment) -> Explanation:
        """Judge the next moment, and say what the window holds then."""
        verdict = verdict_at(self._monitor, self._run, moment)
        is_stronger = RANK[verdict.action] > RANK[self.verdict.action]
        if is_stronger or self.verdict.detection is None:
            self.verdict = (
                verdict if is_stronger else max(self.verdict, verdict, key=attrgetter("suspicion"))
            )
            self.counts = tuple(self._counts_of_words()) if self._run.messages else ()
        return self._explained(step_of(moment), verdict)

    def _counts_of_words(self) -> Iterator[Count]:
        found = self.verdict.detection
        for each, count in self._monitor.counts_of_words():
            option, needed = each.needed
            identity = found.identity if found and found.detector_name == each.name else ""
            yield Count(each.name, option, count, needed, each.unit, identity=identity)

    def _explained(self, step: int, verdict: LoopVerdict) -> Explanation:
        window = self._monitor.window
        rounds = window.rounds
        detectors = self._detector.detectors
        return Explanation(
            step,
            verdict,
            tuple(matches_in(window)),
            tuple(count for each in detectors for count in counts_of(each, window)),
            (),
            self._detector.window,
            rounds[0].evidence[0].index if rounds else min(step + 1, len(self._run)),
            len(rounds),
            window.turn_start,
            tuple(item.index for item in window if item.is_change),
            sum(any(item.is_fresh for item in each.evidence) for each in rounds),
        )


def _parted(run: RecordedRun, step: int) -> Tuple[List[Moment], List[Moment]]:
    """Return what came before the round of a step, and the round with what was said until the next.

    A run without a call has only what was said.
    """
    moments = list(moments_of(run))
    begins = [at for at, each in enumerate(moments) if not isinstance(each, TextMessage)]
    if not begins:
        return [], moments
    number = sum(start <= step for start, _ in run.rounds())
    stop = begins[number] if number < len(begins) else len(moments)
    return moments[: begins[number - 1]], moments[begins[number - 1] : stop]


def _messages_about(
    earlier: List[Moment], these: List[Moment], masking: Masking
) -> Iterator[TextMessage]:
    """Yield what was said between the round before and the one in question, and after it."""
    before = list(takewhile(lambda each: isinstance(each, TextMessage), reversed(earlier)))
    for each in [*reversed(before), *these]:
        if isinstance(each, TextMessage) and each.text:
            yield replace(each, text=masking.text(each.text))


def rungs_of(
    detector: LoopDetector, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[Rung]:
    """Compare two snapshots of a monitor, and yield the loops that it remembers."""
    rungs_before = {identity: taken for _, identity, _, taken in _taken_rungs(before)}
    refused = {block[0] for block in after["ladder"]["blocks"]}
    for group, identity, climbed, taken in _taken_rungs(after):
        ladder = detector.escalations.get(group, detector.escalation)
        yield Rung(
            identity.rpartition(":")[0],
            identity,
            tuple(action.value for action in map(LoopAction, ladder.actions)),
            climbed,
            taken,
            taken > rungs_before.get(identity, 0),
            identity in refused,
        )


def _taken_rungs(snapshot: Mapping[str, Any]) -> Iterator[Tuple[str, str, int, int]]:
    """Yield whose ladder it is, the loop, how far it climbed, and how many rungs it took."""
    ladder = snapshot["ladder"]
    for group, rungs in [("", ladder["main"]), *ladder["own"].items()]:
        for identity, climbed, taken, *_ in rungs["loops"]:
            yield group, identity, climbed, taken
