"""A cap on calls: a budget, not a loop."""

from collections import Counter
from typing import Mapping, Optional

from ..stability import beta
from .base import WindowDetector, check_threshold, detection
from .detection import LoopDetection
from .window import Window


@beta
class CallLimitDetector(WindowDetector):
    """Find that a run has used up its budget of calls. That is no sign of a loop.

    Many calls of one tool are normal work: files to read, samples to process. So no preset that
    looks for loops has a limit, and one that fires says so.

    Args:
        limit: calls allowed in the run, 1 or more; None for no limit.
        per_tool: calls allowed of each tool by name, within the window.

    Raises:
        ValueError: if a limit is below 1, or no limit is given at all.
    """

    name = "call_limit"

    def __init__(
        self, limit: Optional[int] = None, *, per_tool: Optional[Mapping[str, int]] = None
    ) -> None:
        if limit is None and not per_tool:
            raise ValueError("give limit, per_tool or both")
        for cap in [*([limit] if limit is not None else []), *(per_tool or {}).values()]:
            check_threshold("limit", cap, 1)
        self.limit = limit
        self.per_tool = dict(per_tool or {})
        self.span = max(self.per_tool.values(), default=1) + 1

    def find(self, window: Window) -> Optional[LoopDetection]:
        """Compare the calls made with the calls allowed."""
        last = window.rounds[-1].evidence if window.rounds else []
        if last and self.limit is not None and window.call_count > self.limit:
            message = f"The run made {window.call_count} calls; {self.limit} are allowed."
            details = {"tool": last[-1].facts.tool, "count": window.call_count, "limit": self.limit}
            return detection(self.name, message, last[-1:], identity=("run",), details=details)
        counts = (
            Counter(item.facts.tool for item in window) if self.per_tool and last else Counter()
        )
        for item in last:
            tool = item.facts.tool
            if counts[tool] > self.per_tool.get(tool, counts[tool]):
                cap = self.per_tool[tool]
                message = f"Tool {tool!r} was called {counts[tool]} times; {cap} are allowed."
                details = {"tool": tool, "count": counts[tool], "limit": cap}
                return detection(self.name, message, [item], identity=(tool,), details=details)
        return None
