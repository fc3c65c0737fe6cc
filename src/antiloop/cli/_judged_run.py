"""The result of a scan for one run."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, FrozenSet, Optional, Sequence, Tuple

from ..health import HealthProfile, HealthReport, evaluate
from ..health._internal import budget_from_environment
from ..prices import Prices
from ..traces import RecordedRun
from ._named_judge import QuestionCount, consulted

if TYPE_CHECKING:
    from ..loop_detection import LoopDetector, LoopVerdict
    from ..report import DrawnPart
    from ._summary.figures import RunFigures

Verdicts = Sequence[Tuple[int, "LoopVerdict"]]


@dataclass(frozen=True)
class JudgedRun:
    """One run: its place and its health. It stays small for long runs."""

    run_id: str
    source: str
    """The place where it was read, as ``name:line``."""
    health: HealthReport
    asked: Optional[QuestionCount] = None
    """The count of questions to a judge; None if no judge was named."""
    known: Optional[FrozenSet[str]] = None
    """Identities of its loops that a baseline contains; None without a baseline."""
    figures: "Optional[RunFigures]" = None
    """The figures that it adds to a summary; None without one."""
    part: "Optional[DrawnPart]" = None
    """The part that it adds to a report; None without one."""

    @property
    def verdicts(self) -> Verdicts:
        """Step and verdict, as `antiloop.traces._replay` yields them."""
        return self.health.verdicts

    @property
    def new_verdicts(self) -> Verdicts:
        """Those about loops that are not in a baseline."""
        return [(step, verdict) for step, verdict in self.verdicts if not self.is_known(verdict)]

    def is_known(self, verdict: "LoopVerdict") -> bool:
        """Whether it is about a loop in a baseline."""
        return bool(self.known and verdict.detection and verdict.detection.identity in self.known)


def profile_of(detector: "LoopDetector", prices: Optional[Prices] = None) -> HealthProfile:
    """Return the rules of health, with the findings of a detector as evidence.

    Raises:
        ValueError: if an environment variable holds a budget that is not a number.
    """
    budget = budget_from_environment()
    return HealthProfile(detector=detector, cost_budget=budget, prices=prices)


def judge(run: RecordedRun, profile: HealthProfile) -> JudgedRun:
    """Judge a run; if the detector has a judge, that is asked first."""
    run, asked = consulted(run, profile.detector)
    return JudgedRun(run.run_id, run.source, evaluate(run, profile=profile), asked)
