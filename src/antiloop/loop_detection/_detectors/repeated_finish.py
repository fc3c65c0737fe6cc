"""An agent that declares the run finished again and again."""

from dataclasses import replace
from typing import List, Optional

from ...stability import beta
from .._detection import LoopDetection
from .._evidence.call_features import CallFeatures
from .._evidence.round import JudgedCall, Round
from .._evidence.window import Window
from .base import ThresholdDetector, detection


@beta
class RepeatedFinishDetector(ThresholdDetector):
    """Find an agent that declares itself done again and again while the run goes on.

    The text differs each time, and so do the checks before it, but the agent edits nothing any
    more. Tools are recognized by name: `task_done`, `finish`, `submit`, `complete`, and those that
    hand over to a person. A call that finishes the run must not be blocked, so the ladder takes its
    last action instead. Issues that are completed one by one are finished once each.

    Args:
        threshold: calls that finish the run, with no successful edit in between, 2 or more.

    Raises:
        ValueError: if threshold is below 2.
    """

    name = "repeated_finish"
    look_back = 50
    ignores_new_rounds = True

    def __init__(self, threshold: int = 3) -> None:
        super().__init__(threshold)

    def find(self, window: Window) -> Optional[LoopDetection]:
        """Look back if the last round finishes the run."""
        if not window.rounds or not _finishes(window.rounds[-1]):
            return None
        found: List[JudgedCall] = []
        for passed in reversed(window.rounds):
            if _finishes(passed):
                finish = next(item for item in passed.sorted_evidence if item.features.finishes)
                # An agent that is refused for another reason, and corrects its answer, has learned
                # something.
                if found and not _ended_alike(finish.features, found[-1].features):
                    break
                found.append(finish)
            # Checks between two finishes change nothing that is finished; an edit may.
            elif any(map(_is_edit, passed.evidence)):
                break
        found.reverse()
        tool = found[-1].tool
        needed = self._needed_of(window, tool)
        return self._detection(found) if len(found) >= needed else None

    def _detection(self, found: List[JudgedCall]) -> LoopDetection:
        tool, count = found[-1].tool, len(found)
        found_again = detection(
            self.name,
            f"Tool {tool!r} declared the run finished {count} times; nothing was edited since the "
            "first.",
            found,
            times=f", {count} times declared finished; nothing was edited since the first",
            identity=(),
            # A refused finish would keep the run going, which is the opposite of what is wanted.
            refused=(),
            details={"tool": tool, "count": count},
            is_certain=False,
        )
        # Not even where another loop, such as one of checks, was refused before.
        return replace(found_again, inherits=False)


def _ended_alike(one: CallFeatures, other: CallFeatures) -> bool:
    """Whether two finishes ended in the same way: another refusal is an answer to a correction."""
    if one.tool != other.tool or one.outcome is not other.outcome:
        return False
    if one.outcome.is_failure:
        # A refusal may count the attempts, so numbers make no difference.
        return one.wording == other.wording
    # Issue 7 and issue 8 are two things that are finished, each once.
    return one.call == other.call or not one.names_one


def _finishes(passed: Round) -> bool:
    return any(item.features.finishes for item in passed.evidence)


def _is_edit(item: JudgedCall) -> bool:
    """Whether a tool changed something; shell commands do not count, since they may do anything."""
    features = item.features
    return features.mutates and not features.is_command and not features.outcome.is_failure
