"""A tool that does not exist, or calls that never fit it."""

from typing import List, Optional

from ...stability import beta
from ...threshold import check_threshold
from ..detection import LoopDetection
from ..evidence.judged_call import Evidence
from ..evidence.outcome import Outcome
from ..evidence.refusal import whole_tool
from ..evidence.window import Window
from .base import WindowDetector, detection, times


@beta
class UnknownToolDetector(WindowDetector):
    """Find calls of a tool that does not exist, or whose arguments never validate.

    No change of the arguments helps a tool that does not exist, so they are not compared, and a
    block refuses the tool. Where a tool exists and its arguments were wrong, the next ones may be
    right, so nothing is refused: the ladder takes its last action instead.

    Args:
        threshold: calls of one tool that were all turned away, 2 or more.

    Raises:
        ValueError: if threshold is below 2.
    """

    name = "unknown_tool"
    look_back = 50

    def __init__(self, threshold: int = 3) -> None:
        check_threshold("threshold", threshold)
        self.threshold = threshold
        self.span = threshold

    def find(self, window: Window) -> Optional[LoopDetection]:
        """Look back from the calls of the last round that were turned away."""
        for item in window.rounds[-1].evidence if window.rounds else ():
            if item.facts.outcome is Outcome.INVALID:
                spell = self._spell(window, item.facts.tool)
                needed = window.policy(item.facts.tool).thresholds.get(self.name, self.threshold)
                if len(spell) >= needed:
                    return self._detection(spell)
        return None

    def _spell(self, window: Window, tool: str) -> List[Evidence]:
        return window.spell(
            lambda item: item.facts.tool == tool and item.facts.outcome is Outcome.INVALID,
            lambda item: item.facts.tool == tool and item.facts.outcome is not Outcome.REFUSED,
        )

    def _detection(self, spell: List[Evidence]) -> LoopDetection:
        tool, count = spell[-1].facts.tool, len(spell)
        return detection(
            self.name,
            f"{times(count).capitalize()}, a call of {tool!r} was turned away before it could run.",
            spell,
            identity=(tool,),
            refused=whole_tool(spell[-1].facts) if spell[-1].facts.is_missing else (),
            details={"tool": tool, "count": count},
        )
