"""The state of a run that is followed: a few numbers, however long it is."""

from typing import List, Optional, Tuple
from weakref import ref

from ..._text.shortening import NAME_LENGTH, shortened
from ..._text_enum import TextEnum
from ..._waste import Waste
from ...loop_detection import LoopVerdict
from .._shared.run_under_way import RunUnderWay

IDLE_S = 120.0
"""Seconds without a new line after which a session is idle."""
COLUMNS = 60
"""Columns at least of the picture of a run that is longer than that; up to twice as many."""
_SUSPICIOUS = 0.5


class LiveState(TextEnum):
    """The activity of a session."""

    LOOPING = "looping"
    """The last calls are part of a loop."""
    SUSPICIOUS = "suspicious"
    """The suspicion is 0.5 or more."""
    WORKING = "working"
    """Nothing is wrong."""
    IDLE = "idle"
    """Nothing was written for two minutes."""
    ENDED = "ended"
    """The recording says that the run is over."""


class Picture:
    """The suspicion over a run in at most 120 digits, each the highest of some steps.

    >>> picture = Picture()
    >>> for level in (0, 1, 3):
    ...     picture.add(level)
    >>> str(picture)
    '013'
    """

    def __init__(self) -> None:
        self._levels: List[int] = []
        self._width = 1
        self._room = 0

    def add(self, level: int) -> None:
        if not self._room:
            if len(self._levels) == 2 * COLUMNS:
                self._levels = list(map(max, self._levels[::2], self._levels[1::2]))
                self._width *= 2
            self._levels.append(0)
            self._room = self._width
        self._room -= 1
        self._levels[-1] = max(self._levels[-1], level)

    def __str__(self) -> str:
        return "".join(map(str, self._levels))


class LiveSession:
    """One run that is followed.

    Args:
        run: the run; it is not kept alive.
        remembered: for how many calls back a loop may still be found.
    """

    def __init__(self, number: int, path: str, run: RunUnderWay, remembered: int) -> None:
        self.number = number
        self.path = path
        self.run_id = shortened(run.run_id, NAME_LENGTH)
        self.source = run.source
        self.steps = 0
        """Calls that are judged."""
        self.suspicion = 0.0
        """After the last round."""
        self.found = 0
        """The number of reported loops."""
        self.last: Optional[Tuple[int, LoopVerdict]] = None
        """The last verdict about a loop, with its step."""
        self.trouble_s = 0.0
        """The time at which that was written, as a Unix time; 0 if there was none."""
        self.written_s = 0.0
        """The time at which its file was last written."""
        self.picture = Picture()
        self._run = ref(run)
        self._waste = Waste(remembered)

    @property
    def wasted_calls(self) -> int:
        """Calls of loops that brought nothing new."""
        return self._waste.calls

    def take(self, judged: int, verdict: LoopVerdict) -> None:
        """Take the next verdict, after so many calls."""
        new, self.steps = judged - self.steps, judged
        if new or verdict.detection:
            self.suspicion = verdict.suspicion
        for _ in range(new):
            self.picture.add(self._level())
        found = verdict.detection
        if found is not None:
            last = max(0, judged - 1)
            self.found += 1
            self.last, self.trouble_s = (last, verdict), self.written_s
            steps = found.indices or (last,)
            self._waste.mark(steps, found.wasted_calls)

    def state(self, now_s: float) -> LiveState:
        """Say what it does at a time."""
        run = self._run()
        if run is None or run.is_over:
            return LiveState.ENDED
        if now_s - self.written_s > IDLE_S:
            return LiveState.IDLE
        if self.suspicion >= 1:
            return LiveState.LOOPING
        return LiveState.SUSPICIOUS if self.suspicion >= _SUSPICIOUS else LiveState.WORKING

    def _level(self) -> int:
        """Return the suspicion as a digit from 0 to 3."""
        if self.suspicion >= 1:
            return 3
        return 0 if not self.suspicion else 2 if self.suspicion >= _SUSPICIOUS else 1


def by_trouble(sessions: "List[LiveSession]", now_s: float) -> "List[LiveSession]":
    """Sort sessions: what loops now, newest trouble, highest suspicion, latest written."""

    def trouble(each: LiveSession) -> Tuple[bool, float, float, float]:
        is_calm = each.state(now_s) is not LiveState.LOOPING
        return is_calm, -each.trouble_s, -each.suspicion, -each.written_s

    return sorted(sessions, key=trouble)
