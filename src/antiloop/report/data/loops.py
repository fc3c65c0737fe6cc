"""The loops of a run: what several detectors found about the same calls is one loop."""

from collections import Counter
from typing import Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

from ...loop_detection import LoopDetection, LoopVerdict
from ...loop_detection.text.masking import Masking
from ...traces import RecordedRun

_ROWS = ("failure_streak", "persistent_failure")
"""Detectors of rows of calls that are not like each other."""
_TOOLS = 3
"""Tools that the name of a loop tells at most."""


class Loop(NamedTuple):
    """One loop."""

    verdicts: Tuple[Tuple[int, LoopVerdict], ...]
    """Step and verdict, oldest first; at least one."""
    steps: Tuple[int, ...]
    """Its calls, oldest first; the step of the first verdict where it is made of words."""
    wasted: Tuple[int, ...]
    """Those that brought nothing new and are counted to no loop before."""
    period: int
    """How many rounds a lap takes."""
    tools: Tuple[Tuple[str, int], ...]
    """The tools and how often each was called, the most frequent first."""

    @property
    def detectors(self) -> List[str]:
        """Names of the detectors that found it, the first one first."""
        names = [
            verdict.detection.detector_name for _, verdict in self.verdicts if verdict.detection
        ]
        return list(dict.fromkeys(names))

    @property
    def message(self) -> str:
        """What the first detector says of it in the end."""
        first = self.detectors[0]
        said = [each.detection for _, each in self.verdicts if each.detection]
        return [found.message for found in said if found.detector_name == first][-1]

    @property
    def actions(self) -> List[Tuple[int, str]]:
        """The step at which each action would have come first."""
        first: Dict[str, int] = {}
        for step, verdict in self.verdicts:
            first.setdefault(verdict.action.value, step)
        return [(step, action) for action, step in first.items()]

    def label(self, masking: Masking) -> str:
        """Name it: the tools of a lap, and how often they were called.

        ``edit_file x 4`` is one call made four times, ``read, search x 3 laps`` a cycle.
        """
        names = [masking.name(name) for name, _ in self.tools[:_TOOLS]]
        names += ["..."] * (len(self.tools) > _TOOLS)
        if not names:
            return self.detectors[0]
        laps = len(self.steps) // self.period
        if 1 < laps < len(self.steps):
            return f"{', '.join(names)} \u00d7 {laps} laps"
        return f"{', '.join(names)} \u00d7 {len(self.steps)}"


class _Group:
    """Verdicts about the same calls."""

    def __init__(self) -> None:
        self.verdicts: List[Tuple[int, LoopVerdict]] = []
        self.steps: Set[int] = set()
        self.widest = (0, 1)
        """Calls and period of the finding with the most calls."""

    def add(self, step: int, verdict: LoopVerdict, found: LoopDetection) -> None:
        self.verdicts.append((step, verdict))
        if not found.indices:
            self.steps.add(step)
        is_row = found.detector_name in _ROWS
        if not (is_row and self.widest[0]):
            period = 1 if is_row or found.repetitions < 2 else found.period
            self.widest = max(self.widest, (len(found.indices), period))


class _Groups:
    """Sorts verdicts into groups; each call belongs to one of them."""

    def __init__(self) -> None:
        self.all: List[_Group] = []
        self.wasted: Set[int] = set()
        self._known: Dict[str, _Group] = {}
        self._owners: Dict[int, _Group] = {}

    def add(self, step: int, verdict: LoopVerdict, found: LoopDetection) -> None:
        group = self._known.get(found.identity) or self._sharing(found.indices)
        if group is None:
            group = _Group()
            self.all.append(group)
        self._known[found.identity] = group
        group.add(step, verdict, found)
        for index in found.indices:
            if self._owners.setdefault(index, group) is group:
                group.steps.add(index)
        self.wasted.update(found.indices[len(found.indices) - found.wasted_calls :])

    def _sharing(self, steps: Sequence[int]) -> Optional[_Group]:
        """Find the group that shares half of these calls, or of which these are half.

        Where each of these calls belongs to some group, it is the one that shares the most.
        """
        shared = Counter(self._owners[step] for step in steps if step in self._owners)
        none_is_free = sum(shared.values()) == len(steps)
        for group, count in shared.most_common(1):
            if none_is_free or 2 * count >= min(len(steps), len(group.steps)):
                return group
        return None


def loops_of(run: RecordedRun, verdicts: Iterable[Tuple[int, LoopVerdict]]) -> List[Loop]:
    """Group the verdicts on a run into loops, in the order in which they began.

    Two findings are one loop if the detector says so, by their identity, or if they share half of
    the calls of one of them. A streak of failures may span several loops, so it comes last and
    takes no call from them.
    """
    groups = _Groups()
    found = [(step, each, each.detection) for step, each in verdicts if each.detection]
    for step, verdict, detection in sorted(found, key=lambda one: one[2].detector_name in _ROWS):
        groups.add(step, verdict, detection)
    loops = [_loop(run, group, groups.wasted) for group in groups.all]
    return sorted(loops, key=lambda loop: loop.steps[0])


def _loop(run: RecordedRun, group: _Group, wasted: Set[int]) -> Loop:
    steps = sorted(group.steps)
    has_calls = group.widest[0] > 0
    tools = Counter(run.calls[step].tool_name for step in steps if has_calls)
    return Loop(
        tuple(sorted(group.verdicts, key=lambda one: one[0])),
        tuple(steps),
        tuple(step for step in steps if step in wasted),
        group.widest[1],
        tuple((str(name), count) for name, count in tools.most_common()),
    )
