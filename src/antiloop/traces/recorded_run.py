"""One run of an agent, as it was recorded."""

from dataclasses import dataclass
from typing import Iterator, Optional, Tuple

from ..formats import rounds_of
from ..types import ToolCall, ToolResult


@dataclass(frozen=True)
class RecordedRun:
    """One run of an agent: what it called, and what came back."""

    run_id: str
    """The id in the file, or ``name:line`` where the file gives none."""
    calls: Tuple[ToolCall, ...] = ()
    """One for each step, oldest first."""
    results: Tuple[Optional[ToolResult], ...] = ()
    """As long as ``calls``; None where no result is known."""
    turn_starts: Tuple[int, ...] = ()
    """For each user message: how many calls stood before it."""
    source: str = ""
    """Where it was read, as ``name:line``."""

    def __len__(self) -> int:
        return len(self.calls)

    def rounds(self) -> Iterator[Tuple[int, int]]:
        """Yield where each round starts and stops, as for a slice of calls and results."""
        return rounds_of(self.calls)
