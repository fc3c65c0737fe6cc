"""A cap on calls: a budget, not a loop."""

from dataclasses import replace
from typing import Iterable, Mapping, Optional

from ..._checks import check_flag, check_threshold
from ..._frozen import FrozenDict
from ...stability import beta
from .._detection import LoopDetection
from .._evidence.fingerprint import kept_name
from .._evidence.refusal import EVERY_TOOL, tool_key
from .._evidence.round import JudgedCall
from .._evidence.window import Window
from .base import WindowDetector, detection


@beta
class CallLimitDetector(WindowDetector):
    """Report that a run has used up its budget of calls, which does not mean a loop.

    Many calls of one tool are normal work: files to read, samples to process. For this reason no
    preset that looks for loops has a limit, and the message of this detector names the budget.

    Args:
        limit: number of calls, 1 or more; None for no limit. The first beyond it still runs, and is
            what the detector reports.
        per_tool: number of calls for each tool, by its name.
        per_turn: count from the last user message instead of the start of the run.

    Raises:
        ValueError: if a limit is below 1, or there is no limit at all.
        TypeError: if `per_tool` is not a mapping of names, or `per_turn` not True or False.
    """

    name = "call_limit"
    span = 1

    def __init__(
        self,
        limit: Optional[int] = None,
        *,
        per_tool: Optional[Mapping[str, int]] = None,
        per_turn: bool = False,
    ) -> None:
        if not (per_tool is None or isinstance(per_tool, Mapping)):
            raise TypeError(f"per_tool must be a mapping of names, got {per_tool!r}")
        for tool in per_tool or ():
            if not isinstance(tool, str):
                raise TypeError(f"per_tool must be a mapping of names, got {tool!r} as a name")
        check_flag("per_turn", per_turn)
        self.limit = limit
        self.per_tool: Mapping[str, int] = FrozenDict(per_tool or {})
        self.per_turn = per_turn
        if limit is None and not self.per_tool:
            raise ValueError("give limit, per_tool or both")
        if limit is not None:
            check_threshold("limit", limit, 1)
        for tool, cap in self.per_tool.items():
            check_threshold(f"limit of {tool!r}", cap, 1)
        self.caps: Mapping[str, int] = FrozenDict(
            {kept_name(tool): cap for tool, cap in self.per_tool.items()}
        )
        """`per_tool` with the tool names as a window stores them."""

    @property
    def counted(self) -> Iterable[str]:
        """The tools whose calls the window must count."""
        return self.per_tool

    def find(self, window: Window) -> Optional[LoopDetection]:
        """Compare the number of calls with the limits."""
        last = window.rounds[-1].sorted_evidence if window.rounds else []
        # Counted beyond the window, which holds far fewer calls than a budget allows.
        count = window.turn_calls if self.per_turn else window.call_count
        if last and self.limit is not None and count > self.limit:
            return self._detection(f"{count} calls were made", count, self.limit, last[-1], None)
        for item in last:
            tool = item.tool
            count, cap = window.count_of(tool, self.per_turn), self.caps.get(tool)
            if cap is not None and count > cap:
                return self._detection(
                    f"Tool {tool!r} was called {count} times", count, cap, item, tool
                )
        return None

    def _detection(
        self, made: str, count: int, cap: int, latest: JudgedCall, tool: Optional[str]
    ) -> LoopDetection:
        found = detection(
            self.name,
            f"{made}; the budget is {cap}.",
            [latest],
            times=f", call {count}; the budget is {cap}",
            identity=() if tool is None else (tool,),
            details={"tool": latest.tool, "count": count, "limit": cap},
            refused=(EVERY_TOOL if tool is None else tool_key(tool),),
        )
        # Doing something else gives no call back, so the block stays.
        return replace(found, is_lasting=True)
