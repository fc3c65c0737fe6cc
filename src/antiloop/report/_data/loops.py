"""The loops of a run: what several detectors found about the same calls is one loop."""

from collections import Counter
from hashlib import sha256
from typing import Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

from ..._amounts import number, total
from ..._short_repr import counted
from ..._text.canonical import canonical_json, parsed_arguments, text_of
from ..._text.masking import Masking
from ..._text.shortening import shortened
from ..._waste import wasted_steps
from ...loop_detection import LoopDetection, LoopVerdict
from ...traces import RecordedRun

CHARACTERS_PER_TOKEN = 4
"""Characters per token for recordings without tokens: the usual figure for English."""


class Spent(NamedTuple):
    """Count what some calls took, with the replies that asked for them."""

    tokens: int
    is_estimate: bool
    """Whether the tokens are estimated from the length of the calls and results."""
    cost: Optional[float]
    """In the recorder's currency; None where no event says what it cost."""


class Spending:
    """Tokens and money of a run, by step."""

    def __init__(self, run: RecordedRun) -> None:
        self._run = run
        self._tokens: Dict[int, int] = {}
        self._costs: Dict[int, float] = {}
        for event in run.events:
            tokens = event.tokens
            if tokens is None:
                tokens = total([event.input_tokens, event.output_tokens])
            if tokens is not None:
                self._tokens[event.step] = self._tokens.get(event.step, 0) + tokens
            cost = number(event.cost)
            if cost is not None:
                self._costs[event.step] = self._costs.get(event.step, 0) + cost

    def on(self, steps: Iterable[int]) -> Spent:
        """Add up what these steps took."""
        steps = list(steps)
        cost = total(self._costs.get(step) for step in steps)
        if self._tokens:
            return Spent(sum(self._tokens.get(step, 0) for step in steps), False, cost)
        characters = sum(map(self._characters, steps))
        return Spent(-(-characters // CHARACTERS_PER_TOKEN), True, cost)

    def _characters(self, step: int) -> int:
        if step >= len(self._run):
            return 0
        result = self._run.results[step]
        arguments = canonical_json(parsed_arguments(self._run.calls[step].arguments))
        return len(arguments) + (0 if result is None else len(text_of(result.text)))


_ROWS = ("failure_streak", "persistent_failure")
"""Detectors of rows of calls that are not like each other."""
_TOOLS = 3
"""Tools that the name of a loop tells at most."""
_KEY = 12
"""Digits of the key of a loop."""
_LABEL = 90
"""Characters of a call in the name of a loop."""
_FAILING = (
    "It fails in the same way each time. Repair what the answer names, or tell the agent what to do"
    " when it comes."
)
_NOTHING = "Nothing is there, and the agent asks again. Tell it what to do about an empty answer."
_ADVICE = {
    "failure": _FAILING,
    "invalid": _FAILING,
    "empty": _NOTHING,
    "silent": _NOTHING,
    "waiting": "The agent waits by asking. Let the tool wait itself, or declare that it is polled.",
    "cycle": "Each call brings what it brought the lap before. Tell the agent what ends this work.",
    "words": "The agent announces and does nothing. Tell it to act, or to end its turn.",
    "success": "The answer is known already. Keep it where the agent sees it, or refuse the call"
    " with LoopDetector.escalating().",
}
"""Advice on what a person may do, by the kind of the last answer."""


class Loop(NamedTuple):
    """One loop."""

    verdicts: Tuple[Tuple[int, LoopVerdict], ...]
    """Step and verdict, oldest first; at least one."""
    steps: Tuple[int, ...]
    """Its calls, oldest first; the step of the first verdict where it is made of words."""
    wasted: Tuple[int, ...]
    """Those that brought nothing new and are counted to no loop before."""
    period: int
    """The number of rounds that a lap takes."""
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
    def last(self) -> LoopDetection:
        """Return what the first detector found last, when the loop was longest."""
        first = self.detectors[0]
        detections = [each.detection for _, each in self.verdicts if each.detection]
        return [found for found in detections if found.detector_name == first][-1]

    @property
    def message(self) -> str:
        """Return the finding in one line for a person."""
        return self.last.summary

    @property
    def call(self) -> str:
        """The calls of a lap, each with the text that tells it from others; empty for words."""
        return self.last.label

    @property
    def key(self) -> str:
        """Equal for equal loops, also of other runs: the same calls, by any detector."""
        found = self.last
        # Calls that differ from lap to lap are named by what they share, which is the identity.
        # That of a streak of any failures, and of a judge's word, says nothing of what was called.
        is_named_by_calls = (
            0 < len(found.members) <= max(1, len(found.indices) // 2)
            or "tools" in found.details
            or found.detector_name == "second_opinion"
        )
        named = " ".join(sorted(found.members)) if is_named_by_calls else found.identity
        return sha256(named.encode()).hexdigest()[:_KEY]

    def name(self, masking: Masking) -> str:
        """Name it without a count, for all runs that have it."""
        return (
            shortened(masking.text(self.call), _LABEL) or self.label(masking).split(" \u00d7 ")[0]
        )

    @property
    def answer(self) -> str:
        """The last answer, or the words that came again and again."""
        return self.last.answer or str(self.last.details.get("words", ""))

    @property
    def advice(self) -> str:
        """Return what to do about it, for the person who runs the agent."""
        kind = "words" if "words" in self.last.details else str(self.last.details.get("answer"))
        usual = "cycle" if self.period > 1 else "success"
        return _ADVICE[usual if kind not in _ADVICE or kind == "success" else kind]

    @property
    def times(self) -> str:
        """Return how often it came, over the whole run: calls, or laps of a cycle."""
        laps = len(self.steps) // self.period
        if 1 < laps < len(self.steps):
            return f"{laps:,} laps"
        return counted(len(self.steps), "time" if self.tools else "reply")

    @property
    def actions(self) -> List[Tuple[int, str]]:
        """The step at which each action would have come first."""
        first: Dict[str, int] = {}
        for step, verdict in self.verdicts:
            first.setdefault(verdict.action.value, step)
        return [(step, action) for action, step in first.items()]

    def label(self, masking: Masking) -> str:
        """Name it in a line: what was called, and how often.

        ``Bash "make test" x 4`` is one call made four times, ``read, search x 3 laps`` a cycle.
        """
        laps = len(self.steps) // self.period
        is_cycle = 1 < laps < len(self.steps)
        if self.call and not is_cycle:
            return f"{shortened(masking.text(self.call), _LABEL)} \u00d7 {len(self.steps):,}"
        names = [masking.name(name) for name, _ in self.tools[:_TOOLS]]
        names += ["..."] * (len(self.tools) > _TOOLS)
        if not names:
            return self.detectors[0]
        return f"{', '.join(names)} \u00d7 {f'{laps:,} laps' if is_cycle else len(self.steps)}"


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
        self._by_identity: Dict[str, _Group] = {}
        self._owners: Dict[int, _Group] = {}

    def add(self, step: int, verdict: LoopVerdict, found: LoopDetection) -> None:
        group = self._by_identity.get(found.identity) or self._sharing(found.indices)
        if group is None:
            group = _Group()
            self.all.append(group)
        self._by_identity[found.identity] = group
        group.add(step, verdict, found)
        for index in found.indices:
            if self._owners.setdefault(index, group) is group:
                group.steps.add(index)
        self.wasted.update(wasted_steps(found.indices, found.wasted_calls))

    def _sharing(self, steps: Sequence[int]) -> Optional[_Group]:
        """Find the group that shares half of these calls, or of which these are half.

        If each of these calls belongs to some group, the group that shares the most is taken.
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
