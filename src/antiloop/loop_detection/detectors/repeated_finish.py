"""An agent that declares the run finished again and again."""

from typing import List, Optional

from ...stability import beta
from ..detection import LoopDetection
from ..evidence.effect import seems_to_finish
from ..evidence.judged_call import JudgedCall
from ..evidence.round import Round
from ..evidence.window import Window
from ..threshold import check_threshold
from .base import WindowDetector, detection


@beta
class RepeatedFinishDetector(WindowDetector):
    """Find an agent that declares itself done again and again while the run goes on.

    The text differs each time, and so do the checks before it, but the agent edits nothing any
    more. Tools are recognized by name: `task_done`, `finish`, `submit`, `complete`. A call that
    finishes the run must not be blocked, so the ladder takes its last action instead.

    Args:
        threshold: calls that finish the run, with no successful edit in between, 2 or more.

    Raises:
        ValueError: if threshold is below 2.
    """

    name = "repeated_finish"
    look_back = 50
    ignores_new_rounds = True

    def __init__(self, threshold: int = 3) -> None:
        check_threshold("threshold", threshold)
        self.threshold = threshold
        self.span = threshold

    def find(self, window: Window) -> Optional[LoopDetection]:
        """Look back if the last round finishes the run."""
        if not window.rounds or not _finishes(window.rounds[-1]):
            return None
        found: List[JudgedCall] = []
        for passed in reversed(window.rounds):
            if _finishes(passed):
                found.append(next(filter(_is_finish, passed.sorted_evidence)))
            elif any(map(_is_edit, passed.evidence)):
                break
        found.reverse()
        tool = found[-1].features.tool
        needed = window.threshold(self.name, tool, self.threshold)
        return self._detection(found) if len(found) >= needed else None

    def _detection(self, found: List[JudgedCall]) -> LoopDetection:
        tool, count = found[-1].features.tool, len(found)
        return detection(
            self.name,
            f"Tool {tool!r} declared the run finished {count} times; nothing was edited since the "
            "first.",
            found,
            identity=(),
            refused=(),
            details={"tool": tool, "count": count},
            is_certain=False,
        )


def _finishes(passed: Round) -> bool:
    return any(map(_is_finish, passed.evidence))


def _is_finish(item: JudgedCall) -> bool:
    return seems_to_finish(item.features.tool)


def _is_edit(item: JudgedCall) -> bool:
    """Whether a tool changed something; shell commands do not count, since they may do anything."""
    features = item.features
    return features.mutates and not features.is_command and not features.outcome.is_failure
