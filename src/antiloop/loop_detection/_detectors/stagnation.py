"""A run that stagnates: much weak evidence, though no single kind is enough for a detector."""

from dataclasses import replace
from typing import List, Optional

from ...stability import beta
from .._detection import LoopDetection
from .._evidence.round import Round
from .._evidence.sameness import acknowledges
from .._evidence.suspicion import KEPT_ROUNDS, evidence_of
from .._evidence.window import Window
from .base import ThresholdDetector, detection


@beta
class StagnationDetector(ThresholdDetector):
    """Find a run in which many kinds of weak evidence agree, although none is enough alone.

    Every kind of evidence that other detectors weigh is added up over the last twelve rounds:
    failures, answers that were known, searches in vain, calls that are nearly the same. That finds
    an agent whose loop has no order, and says little about how to leave it, so it brings a notice
    and never a block or an end.

    Args:
        threshold: rounds in a row, up to the last one, that must each bear such evidence, 2 or
            more. An agent that edits between two failures has not stopped working.

    Raises:
        ValueError: if threshold is below 2.
    """

    name = "stagnation"
    look_back = 50
    ignores_new_rounds = True

    def __init__(self, threshold: int = 2) -> None:
        super().__init__(threshold)

    def find(self, window: Window) -> Optional[LoopDetection]:
        """Add up the evidence of the last rounds."""
        if not (window.rounds and window.rounds[-1].traits):
            return None
        tools = {item.tool for item in window.rounds[-1].evidence}
        rounds = max(self._needed_of(window, tool) for tool in tools)
        if evidence_of(window, rounds) < 1:
            return None
        recent = window.rounds[-KEPT_ROUNDS:]
        return None if _only_acts(recent) else self._detection(recent)

    def _detection(self, rounds: List[Round]) -> LoopDetection:
        weak = [passed for passed in rounds if passed.traits]
        calls = [item for passed in weak for item in passed.sorted_evidence]
        found = detection(
            self.name,
            f"{len(weak)} of the last {len(rounds)} rounds failed, found nothing or repeated what "
            "was known.",
            calls,
            times=f", after {len(weak) - 1} rounds that brought as little",
            period=len(weak),
            identity=(),
            refused=(),
            details={"tool": calls[-1].tool, "count": len(weak)},
            is_certain=False,
        )
        # The calls are not one loop, so their next one, of any detector, begins at the first rung.
        return replace(found, members=(), inherits=False, may_end_run=False)


def _only_acts(rounds: List[Round]) -> bool:
    """Whether all that came again are acts, between new ones: they are done to something else."""
    is_new_work = any(item.brings_news for passed in rounds for item in passed.evidence)
    weak = (item.features for passed in rounds if passed.traits for item in passed.evidence)
    return is_new_work and all(map(acknowledges, weak))
