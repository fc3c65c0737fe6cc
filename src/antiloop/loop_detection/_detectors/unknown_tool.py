"""Calls of a tool that does not exist, or with arguments that are never valid."""

from dataclasses import replace
from typing import List, Optional

from ...stability import beta
from .._detection import LoopDetection
from .._evidence.call_features import CallFeatures
from .._evidence.outcome import INVALID, REFUSED
from .._evidence.refusal import whole_tool
from .._evidence.round import JudgedCall
from .._evidence.sameness import say_alike
from .._evidence.streak import streak_of
from .._evidence.window import Window
from .base import ThresholdDetector, detection


@beta
class UnknownToolDetector(ThresholdDetector):
    """Find calls of a tool that does not exist, or whose arguments never validate.

    Other arguments do not help if a tool does not exist, so they are not compared, and a block
    refuses the tool. If the tool exists and only its arguments were invalid, the next ones may be
    valid, so nothing is blocked: the ladder takes its last action instead. Such a rejection counts
    only with those in the same words: another complaint shows that the arguments get better.

    Args:
        threshold: calls of one tool that were all rejected, 2 or more.

    Raises:
        ValueError: if threshold is below 2.
    """

    name = "unknown_tool"
    look_back = 50
    ignores_new_rounds = True

    def __init__(self, threshold: int = 3) -> None:
        super().__init__(threshold)

    def find(self, window: Window) -> Optional[LoopDetection]:
        """Look back from the rejected calls of the last round."""
        for item in window.rounds[-1].sorted_evidence if window.rounds else ():
            if _is_rejected(item.features):
                streak = _streak(window, item.features)
                needed = self._needed_of(window, item.tool)
                if len(streak) >= needed:
                    return self._detection(streak)
        return None

    def _detection(self, streak: List[JudgedCall]) -> LoopDetection:
        latest = streak[-1].features
        tool, count, is_missing = latest.tool, len(streak), latest.is_missing
        found = detection(
            self.name,
            f"{count} times, a call of {tool!r} was turned away before it could run.",
            streak,
            times=f", the last of {count} calls that were turned away before they could run",
            identity=(tool,),
            # If the tool exists, the next arguments may be valid, so nothing is refused.
            refused=whole_tool(latest) if is_missing else (),
            is_certain=is_missing,
            details={"tool": tool, "count": count},
        )
        return found if is_missing else replace(found, inherits=False)


def _streak(window: Window, latest: CallFeatures) -> List[JudgedCall]:
    def has_run(item: JudgedCall) -> bool:
        # Any other answer shows that calls of the tool get through; our own refusal is not its.
        is_answer = item.tool == latest.tool and item.outcome is not REFUSED
        return is_answer and not _is_rejected(item.features)

    return streak_of(window, lambda item: _is_rejected_alike(item.features, latest), has_run)


def _is_rejected_alike(one: CallFeatures, latest: CallFeatures) -> bool:
    """Whether a call was rejected for the same reason; a tool that does not exist is one."""
    if one.tool != latest.tool or not _is_rejected(one):
        return False
    return latest.is_missing or say_alike(one, latest)


def _is_rejected(features: CallFeatures) -> bool:
    """Whether a call was rejected; a program that a shell has run rejects its own arguments."""
    # `Unknown command "sync"` from a program that a shell has run says nothing about the shell.
    return features.outcome is INVALID and (features.is_missing or not features.is_command)
