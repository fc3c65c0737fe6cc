"""The loops of a run: what several detectors found about the same calls is one loop."""

from collections import Counter
from typing import Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

from ..loop_detection import LoopDetection, LoopVerdict
from ..traces import RecordedRun

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

    @property
    def label(self) -> str:
        """Name it: the tools of a lap, and how often they were called.

        ``edit_file x 4`` is one call made four times, ``read, search x 3 laps`` a cycle.
        """
        names = [name for name, _ in self.tools[:_TOOLS]]
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
        self.wasted: Set[int] = set()
        self.widest = (0, 1)
        """Calls and period of the finding with the most calls."""

    def add(self, step: int, verdict: LoopVerdict, found: LoopDetection) -> None:
        self.verdicts.append((step, verdict))
        self.steps.update(found.indices or (step,))
        self.wasted.update(found.indices[len(found.indices) - found.wasted_calls :])
        period = found.period if found.repetitions > 1 else 1
        self.widest = max(self.widest, (len(found.indices), period))


def loops_of(run: RecordedRun, verdicts: Iterable[Tuple[int, LoopVerdict]]) -> List[Loop]:
    """Put the verdicts on a run together, the loop that began first first.

    Two findings are one loop if the detector says so, by their identity, or if they share half of
    the calls of one of them.
    """
    groups: List[_Group] = []
    known: Dict[str, _Group] = {}
    owners: Dict[int, _Group] = {}
    for step, verdict in verdicts:
        found = verdict.detection
        if found is None:
            continue
        group = known.get(found.identity) or _sharing(found.indices, owners)
        if group is None:
            group = _Group()
            groups.append(group)
        known[found.identity] = group
        group.add(step, verdict, found)
        for index in found.indices:
            owners.setdefault(index, group)
    groups.sort(key=lambda group: min(group.steps))
    return [_loop(run, group, owners) for group in groups]


def _sharing(steps: Sequence[int], owners: Dict[int, _Group]) -> Optional[_Group]:
    """Find the group that shares half of these calls, or of which these are half."""
    shared = Counter(owners[step] for step in steps if step in owners)
    for group, count in shared.most_common(1):
        if 2 * count >= min(len(steps), len(group.steps)):
            return group
    return None


def _loop(run: RecordedRun, group: _Group, owners: Dict[int, _Group]) -> Loop:
    steps = sorted(group.steps)
    wasted = [step for step in sorted(group.wasted) if owners.get(step) is group]
    tools = Counter(run.calls[step].tool_name for step in steps if step in owners)
    _, period = group.widest
    return Loop(tuple(group.verdicts), tuple(steps), tuple(wasted), period, _most(tools))


def _most(tools: "Counter[str]") -> Tuple[Tuple[str, int], ...]:
    return tuple((str(name), count) for name, count in tools.most_common())
