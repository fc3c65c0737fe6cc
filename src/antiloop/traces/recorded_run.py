"""One run of an agent, as it was recorded."""

from dataclasses import dataclass
from typing import Any, Dict, Iterator, Optional, Tuple

from ..formats import TextMessage, rounds_of
from ..lazy import lazy_method
from ..loop_detection import Opinion
from ..short_repr import counted, quoted, short_repr
from ..stability import beta
from ..types import ToolCall, ToolResult
from .run_event import RunEvent
from .run_line import run_line, step_of


@beta
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
    """For each user message: how many calls came before it."""
    source: str = ""
    """Where it was read, as ``name:line``."""
    events: Tuple[RunEvent, ...] = ()
    """What else is known of the run, oldest first; empty where the format tells only calls."""
    agent: Optional[str] = None
    """The agent that ran, or the first of several; None where unknown, as in all that follows."""
    model: Optional[str] = None
    """The model that answered, or the first of several."""
    input_tokens: Optional[int] = None
    """What the models read, over the whole run."""
    output_tokens: Optional[int] = None
    """What the models wrote, over the whole run."""
    cost: Optional[float] = None
    """What the run cost, in the recorder's currency."""
    opinions: Tuple[Tuple[int, Opinion], ...] = ()
    """What judges said about the run while it went on, each with the step that it was asked at."""
    failed: bool = False
    """Whether the recording says that the run as a whole ended in an error."""
    messages: Tuple[TextMessage, ...] = ()
    """What the user and the model said and thought, oldest first; empty where it is not known."""
    cached_tokens: Optional[int] = None
    """How much of what the models read came from a cache, over the whole run."""

    def __repr__(self) -> str:
        steps = counted(len(self.calls), "call")
        return short_repr(self, quoted(self.run_id), steps, quoted(self.source))

    _repr_html_ = lazy_method("report.notebook", "run_html")

    def __len__(self) -> int:
        return len(self.calls)

    def to_jsonl(self) -> str:
        """Return the run as one line of antiloop's own format, without events and amounts."""
        return run_line(self.run_id, self._steps(), self.messages, self.opinions)

    def _steps(self) -> Iterator[Dict[str, Any]]:
        users = set(self.turn_starts)
        for index, (call, result) in enumerate(zip(self.calls, self.results)):
            yield step_of(call, result, is_after_user=index in users)

    def rounds(self) -> Iterator[Tuple[int, int]]:
        """Yield where each round starts and stops, as for a slice of calls and results."""
        return rounds_of(self.calls)


def check_run(function: str, given: Any) -> None:
    """Raise TypeError for anything but a recorded run.

    Args:
        function: what takes it, for the message.
        given: what it was called with.
    """
    if not isinstance(given, RecordedRun):
        raise TypeError(
            f"{function} takes a RecordedRun, got {given!r}; read_runs(path) yields them"
        )
