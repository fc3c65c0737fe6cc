"""The recent calls of a run, in rounds: the input of a detector."""

from itertools import zip_longest
from typing import (
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
)

from ...types import ToolCall
from ..text.masking import SECRETS, Masking
from .call_features import CallFeatures
from .compared import Asked, Result, asked_of, is_refusal
from .judged_call import JudgedCall
from .kept_name import kept_id, kept_name
from .outcome import SILENT, SUCCESS
from .round import Round
from .sameness import is_step_forward
from .tally import Tally
from .tool_policy import NO_POLICY, ToolPolicy

Policies = Mapping[str, ToolPolicy]


class Window:
    """The last calls of a run, at most `size` of them, oldest round first.

    Args:
        size: how many calls are kept, None for all.
        policies: what is declared about tools, by name.
        counted: tools whose calls are counted beyond the window, by name.
        masking: what of the arguments may be shown.
        remembers: whether the same calls may be judged again.
    """

    def __init__(
        self,
        size: Optional[int] = None,
        policies: Optional[Policies] = None,
        counted: Iterable[str] = (),
        masking: Masking = SECRETS,
        remembers: bool = True,
    ) -> None:
        self.size = size
        # What is kept of a very long name is what detectors ask for.
        self.policies: Policies = {
            **(policies or {}),
            **{kept_name(name): policy for name, policy in (policies or {}).items()},
        }
        self.masking = masking
        self.remembers = remembers
        self.rounds: List[Round] = []
        self.call_count = 0
        """Calls seen so far, also those that left the window."""
        self.round_count = 0
        """Rounds seen so far that held evidence."""
        self.turn_start = 0
        """Calls that came before the user's last message."""
        self.counts: Dict[str, Tuple[int, int]] = dict.fromkeys(map(kept_name, counted), (0, 0))
        """Calls of the counted tools, in the run and in this turn."""
        self._kept = 0
        self.tally = Tally()
        """How often its calls came, and how they ended."""
        self.by_fingerprint = False
        """Whether calls are compared by their fingerprints, for good: of some, nothing else is
        known."""
        self._lowest: Dict[Tuple[str, int], int] = {}

    @classmethod
    def of(
        cls,
        calls: Sequence[ToolCall],
        results: Sequence[Result],
        size: Optional[int] = None,
        policies: Optional[Policies] = None,
        counted: Iterable[str] = (),
        masking: Masking = SECRETS,
    ) -> "Window":
        """Make the window of a whole run; only its last `size` calls are looked at.

        A round that does not fit is cut as that of a monitor is.
        """
        window = cls(size, policies, counted, masking)
        start = 0 if size is None else max(0, len(calls) - size)
        while 0 < start < len(calls) and calls[start].round is not None:
            if calls[start - 1].round != calls[start].round:
                break
            start -= 1
        if window.counts:
            window._count(calls[:start])
        window.call_count = start
        for first, last in _round_bounds(calls, start):
            window.append(calls[first:last], results[first:last])
        return window

    def append(
        self,
        calls: Sequence[ToolCall],
        results: Sequence[Result],
        asked: Sequence[Optional[Asked]] = (),
        refused_by: Optional[Callable[[CallFeatures], object]] = None,
    ) -> None:
        """Add calls of one round; results that are missing are unknown.

        Args:
            calls: in order.
            results: ``results[i]`` belongs to ``calls[i]``.
            asked: what is known of the calls already, where anything is.
            refused_by: returns what refuses a call, or None; left out where nothing is refused.
                Only a refused call has a refusal as its result: any tool could say the words.

        Calls that bear the number of the last round join it: some callers learn of parallel calls
        one by one.
        """
        number = calls[0].round if calls else None
        joins = bool(number is not None and self.rounds and self.rounds[-1].number == number)
        evidence = {item.features.call_key: item for item in self._reopen()} if joins else {}
        index, policy = self.call_count, NO_POLICY
        for call, result, known in zip_longest(calls, results, asked):
            if self.policies:
                policy = self.policy(call.tool_name)
            if not policy.exempt:
                features = CallFeatures.of(
                    call,
                    result,
                    policy,
                    known or asked_of(call, policy, self.remembers),
                    self.masking,
                    self.by_fingerprint,
                )
                if refused_by and is_refusal(result) and refused_by(features) is not None:
                    features = features.refused()
                if policy.idempotent is False and not features.outcome.is_failure:
                    features = features.as_unique(index)
                if features.call_key not in evidence:
                    evidence[features.call_key] = self._judged(index, call, features)
            index += 1
        self.call_count = index
        if self.counts:
            self._count(calls)
        if evidence:
            self.round_count += not joins
            self.add(Round(number, evidence))

    def add(self, latest: Round) -> None:
        """Add a round that is made already, and drop what no longer fits."""
        self.rounds.append(latest)
        self.tally.add(latest.evidence)
        self._kept += len(latest.evidence)
        if self.size is not None and self._kept > self.size:
            self._trim(self.size)

    @property
    def ends_new(self) -> bool:
        """Whether the last round is new, as `Round.is_new` says."""
        return bool(self.rounds) and self.rounds[-1].is_new

    @property
    def turn_calls(self) -> int:
        """Calls since the user's last message."""
        return self.call_count - self.turn_start

    def count_of(self, tool: str, in_turn: bool) -> int:
        """Return the calls of a counted tool in the run, or in this turn; 0 for another tool."""
        return self.counts.get(kept_name(tool), (0, 0))[in_turn]

    def start_turn(self) -> None:
        """Count the calls of a turn from 0."""
        self.turn_start = self.call_count
        self.counts = {name: (in_run, 0) for name, (in_run, _) in self.counts.items()}

    def clear(self) -> None:
        """Forget the calls, not how many they were."""
        self.rounds.clear()
        self.tally.clear()
        self._kept = 0

    def compare_by_fingerprint(self) -> None:
        """Compare by fingerprints from now on, which the calls have already taken as keys."""
        self.by_fingerprint = True
        rounds = self.rounds[:]
        self.clear()
        for passed in rounds:
            calls = {item.features.call_key: item for item in passed.evidence}
            self.add(Round(passed.number, calls))

    def policy(self, tool: str) -> ToolPolicy:
        """Return the policy of a tool; the empty policy if the name is not a text."""
        return self.policies.get(tool, NO_POLICY) if isinstance(tool, str) else NO_POLICY

    def threshold(self, detector: str, tool: str, usual: int) -> int:
        """Return a detector's threshold for a tool: the usual one, or what is declared instead."""
        if not self.policies:
            return usual
        return self.policy(tool).thresholds.get(detector, usual)

    def lowest(self, detector: str, usual: int) -> int:
        """Return the lowest threshold of a detector: the usual one, or what a tool has instead."""
        if not self.policies:
            return usual
        asked = (detector, usual)
        if asked not in self._lowest:
            declared = [policy.thresholds.get(detector, usual) for policy in self.policies.values()]
            self._lowest[asked] = min([usual, *declared])
        return self._lowest[asked]

    def __iter__(self) -> Iterator[JudgedCall]:
        return (item for passed in self.rounds for item in passed.evidence)

    def _count(self, calls: Sequence[ToolCall]) -> None:
        for call in calls:
            tool = kept_name(call.tool_name) if isinstance(call.tool_name, str) else None
            if tool in self.counts:
                in_run, in_turn = self.counts[tool]
                self.counts[tool] = (in_run + 1, in_turn + 1)

    def _reopen(self) -> List[JudgedCall]:
        """Take back the last round."""
        last = self.rounds.pop().evidence
        self.tally.forget(last)
        self._kept -= len(last)
        return last

    def _judged(self, index: int, call: ToolCall, features: CallFeatures) -> JudgedCall:
        """Say what a call was worth when it came."""
        kind, tally = features.outcome, self.tally
        is_new, is_fresh = features.call_key not in tally, features.answer_key not in tally
        known = None if is_new or is_fresh else self._known(features)
        if known is not None and known.outcome is kind and not self.by_fingerprint:
            features = known  # with all that was derived of it
        if kind is SILENT:
            is_fresh = is_new
        elif is_fresh and kind is not SUCCESS:
            is_fresh = kind.counts_down and self._is_step_forward(features)
        call_id = None if call.id is None else kept_id(call.id)
        return JudgedCall(index, features, call_id, is_fresh, is_new, known is not None)

    def _is_step_forward(self, features: CallFeatures) -> bool:
        if not self.tally.ended_alike(features):
            return False
        earlier = ([item.features for item in each.evidence] for each in reversed(self.rounds))
        return is_step_forward(features, earlier)

    def _known(self, features: CallFeatures) -> Optional[CallFeatures]:
        """Return the same call with the same result, if there was one; unknown results differ."""
        if features.result_key is not None:
            for passed in reversed(self.rounds):
                earlier = passed.calls.get(features.call_key)
                if earlier is not None and earlier.features.result_key == features.result_key:
                    return earlier.features
        return None

    def _trim(self, size: int) -> None:
        surplus = self._kept - size
        self._kept = size
        while surplus > 0:
            oldest = self.rounds.pop(0)
            leaving = oldest.evidence
            if len(leaving) > surplus:
                leaving = oldest.sorted_evidence
                staying = set(leaving[surplus:])
                leaving = leaving[:surplus]
                calls = {key: item for key, item in oldest.calls.items() if item in staying}
                self.rounds.insert(0, Round(oldest.number, calls))
            self.tally.forget(leaving)
            surplus -= len(leaving)


def _round_bounds(calls: Sequence[ToolCall], start: int) -> Iterator[Tuple[int, int]]:
    """Yield first and last (exclusive) position of each round from `start` on."""
    first = start
    for position in range(start + 1, len(calls) + 1):
        ends = position == len(calls) or calls[position].round != calls[first].round
        if ends or calls[first].round is None:
            yield first, position
            first = position
