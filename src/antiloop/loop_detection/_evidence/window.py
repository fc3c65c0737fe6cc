"""The recent calls of a run, in rounds: the input of a detector."""

from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    FrozenSet,
    Iterable,
    Iterator,
    List,
    Optional,
    Sequence,
    Tuple,
    cast,
)

from ..._short_repr import counted, short_repr
from ..._text.masking import SECRETS, Masking
from ...stability import beta
from ...types import ToolCall, ToolResult
from .._profiles import NO_CLIENT, ClientProfile
from .answered import Result, is_refusal
from .asked import Asked, asked_of, without_comments
from .call_features import CallFeatures
from .comments import Comments
from .fingerprint import kept_id, kept_name
from .host_lines import HostLines
from .keys import Keys
from .occurrences import Occurrences
from .outcome import SILENT, SUCCESS, UNKNOWN
from .round import JudgedCall, Round, answer_order
from .sameness import is_echo, is_step_forward, retells, show_alike
from .tool_policy import NO_POLICY, Policies, ToolPolicy

if TYPE_CHECKING:
    from typing_extensions import TypeGuard

USUAL_SIZE = 50
"""The calls that a window holds unless the user sets another number."""
_MOST_S = 1e12
"""A larger number is not a time: it lies 30,000 years away."""


@beta
class Window:
    """The last calls of a run, at most `size` of them, oldest round first.

    Args:
        size: how many calls are kept.
        policies: what is declared about tools, by name.
        counted: tools whose calls are counted beyond the window, by name.
        masking: what of the arguments may be shown.
        keys: the keys that detectors declare, by name.
        client: what is known of the program that runs the tools; those that plan never count.
    """

    def __init__(
        self,
        size: int = USUAL_SIZE,
        policies: Optional[Policies] = None,
        counted: Iterable[str] = (),
        masking: Masking = SECRETS,
        keys: Optional[Keys] = None,
        client: ClientProfile = NO_CLIENT,
    ) -> None:
        self.size = size
        # What is kept of a very long name is what detectors ask for.
        self.policies: Policies = {
            **dict.fromkeys(client.plans, ToolPolicy(exempt=True)),
            **(policies or {}),
            **{kept_name(name): policy for name, policy in (policies or {}).items()},
        }
        self.client = client
        self.masking = masking
        self.keys: Keys = keys or {}
        self.rounds: List[Round] = []
        self.call_count: int = 0
        """Calls seen so far, also those that left the window."""
        self.round_count: int = 0
        """Rounds seen so far that held evidence."""
        self.turn_start: int = 0
        """Calls that came before the user's last message."""
        self.counts: Dict[str, Tuple[int, int]] = dict.fromkeys(map(kept_name, counted), (0, 0))
        """Calls of the counted tools, in the run and in this turn."""
        self.clock: float = 0.0
        """The time of the last answer whose time is known; a run without times stays at 0."""
        self.host_lines: HostLines = HostLines()
        """The lines that the host puts around answers, as far as they are known."""
        self.comments: Comments = Comments()
        """The arguments that only comment on calls, as far as they are known."""
        self._kept = 0
        self.known: FrozenSet[str] = frozenset()
        """The calls and answers from before the last compaction."""
        self.occurrences: Occurrences = Occurrences()
        """The number of times that each of its calls came, and the outcomes."""

    def fill(self, calls: Sequence[ToolCall], results: Sequence[Result]) -> "Window":
        """Take in a whole run, of which only the last calls are looked at, and return the window.

        A round that does not fit is cut as that of a monitor is.
        """
        start = max(0, len(calls) - self.size)
        while 0 < start < len(calls) and calls[start].round is not None:
            if calls[start - 1].round != calls[start].round:
                break
            start -= 1
        if self.counts:
            self._count(self.asked(call).tool for call in calls[:start])
        self.call_count = start
        for first, last in _round_bounds(calls, start):
            self.append(calls[first:last], results[first:last])
        return self

    def __repr__(self) -> str:
        return short_repr(self, counted(len(self.rounds), "round"))

    def append(
        self,
        calls: Sequence[ToolCall],
        results: Sequence[Result],
        asked: Sequence[Asked] = (),
        refused_by: Optional[Callable[[CallFeatures], object]] = None,
    ) -> None:
        """Add calls of one round; results that are missing are unknown.

        Args:
            calls: in order.
            results: ``results[i]`` belongs to ``calls[i]``.
            asked: the same calls as `asked` reads them, if that is done already.
            refused_by: returns what refuses a call, or None; left out where nothing is refused.
                Only a refused call has a refusal as its result: any tool could say the words.

        Calls that bear the number of the last round join it: some callers learn of parallel calls
        one by one. Of equal calls in a round one counts: the one with the smallest fingerprint of
        its result, whatever their order.
        """
        number = calls[0].round if calls else None
        joins = bool(number is not None and self.rounds and self.rounds[-1].number == number)
        evidence = self._reopen() if joins else {}
        asked = asked or list(map(self.asked, calls))
        results = [*results, *[None] * (len(calls) - len(results))]
        # An exempt call makes no round, so a plan between two equal calls does not part them.
        for at, features in sorted(self._read(asked, results).items()):
            index = self.call_count + at
            if refused_by and is_refusal(results[at]) and refused_by(features) is not None:
                features = features.refused()
            # A key that is pressed twice does two things, but it fails twice in one way.
            if asked[at].policy.idempotent is False and not features.outcome.is_failure:
                features = features.as_unique(index)
            earlier = evidence.get(features.call)
            # Equal calls of one reply come in any order, so to take the first would be chance.
            if earlier is None or answer_order(features) < answer_order(earlier.features):
                ended_at = self._ended_at(calls[at], results[at])
                evidence[features.call] = self._judged(index, calls[at], features, ended_at)
        self.call_count += len(calls)
        if self.counts:
            self._count(each.tool for each in asked)
        if evidence:
            self.round_count += not joins
            self.add(Round(number, evidence))

    def _read(self, asked: Sequence[Asked], results: Sequence[Result]) -> Dict[int, CallFeatures]:
        """Read the calls of a round that are judged, by their places."""
        # What is learned of a host depends on the order of the calls, which is chance in a round.
        order: Sequence[int] = range(len(asked))
        if len(asked) > 1:
            order = sorted(order, key=lambda at: asked[at].call)
        for at in order:
            self.comments.learn(asked[at].tool, asked[at].arguments)
        return {
            at: CallFeatures.of(asked[at], results[at], self.masking, self.keys, self.host_lines)
            for at in order
            if not asked[at].policy.exempt
        }

    def asked(self, call: ToolCall) -> Asked:
        """Read a call as the window compares it."""
        return without_comments(asked_of(call, self.policies, self.client), self.comments)

    def features(self, call: ToolCall, result: Result) -> CallFeatures:
        """Read a call and its result as the window compares them."""
        return CallFeatures.of(self.asked(call), result, self.masking, self.keys)

    def add(self, latest: Round) -> None:
        """Add a round that is made already, and drop what no longer fits."""
        self.rounds = [*self.rounds, latest]
        self.occurrences.add(latest.evidence)
        self._kept += len(latest.evidence)
        if self._kept > self.size:
            self._trim()

    @property
    def parts(self) -> Tuple[object, ...]:
        """The objects that a round changes."""
        return self, self.host_lines, self.comments, self.occurrences

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

    def clear(self, known: FrozenSet[str] = frozenset()) -> None:
        """Forget the calls but those that were `known`, not how many they were."""
        self.rounds = []
        self.known = known
        # The numbers of calls and rounds go on: opinions and ladders name moments by them.
        self.occurrences = Occurrences()
        self._kept = 0

    def policy(self, tool: str) -> ToolPolicy:
        """Return the policy of a tool, the empty one if nothing is declared about it."""
        return self.policies.get(tool, NO_POLICY)

    def threshold(self, detector: str, tool: str, usual: int) -> int:
        """Return a detector's threshold for a tool: the usual one, or what is declared instead."""
        if not self.policies:
            return usual
        return self.policy(tool).thresholds.get(detector, usual)

    def lowest(self, detector: str, usual: int) -> int:
        """Return the lowest threshold of a detector: the usual one, or what a tool has instead."""
        if not self.policies:
            return usual
        declared = [policy.thresholds.get(detector, usual) for policy in self.policies.values()]
        return min([usual, *declared])

    def __iter__(self) -> Iterator[JudgedCall]:
        return (item for passed in self.rounds for item in passed.evidence)

    def _count(self, tools: Iterable[str]) -> None:
        """Count calls by their tools; that of a call that is handed on is the inner one."""
        for tool in tools:
            if tool in self.counts:
                in_run, in_turn = self.counts[tool]
                self.counts = {**self.counts, tool: (in_run + 1, in_turn + 1)}

    def _reopen(self) -> Dict[str, JudgedCall]:
        """Take back the last round."""
        *self.rounds, last = self.rounds
        self.occurrences.remove(last.evidence)
        self._kept -= len(last.evidence)
        return dict(last.calls)

    def _ended_at(self, call: ToolCall, result: Result) -> Optional[float]:
        """Return when an answer came, and set the clock; None where the run does not say.

        Where only durations are known, the clock runs while the calls do.
        """
        is_result = issubclass(type(result), ToolResult)
        began, took = call.started_at, cast(ToolResult, result).duration_s if is_result else None
        if began is None and took is None:
            return None
        if not (_is_time(began) or _is_time(took)):
            return None
        self.clock = (began if _is_time(began) else self.clock) + (took if _is_time(took) else 0)
        return self.clock

    def _judged(
        self, index: int, call: ToolCall, features: CallFeatures, ended_at: Optional[float]
    ) -> JudgedCall:
        """Mark a call by what the window holds when it comes."""
        kind = features.outcome
        is_new = not self.occurrences.came(features)
        is_fresh = not (self.occurrences.answered(features) or is_echo(features))
        if is_fresh and kind is SUCCESS and self.rounds:
            # The page with another address or another echo in it is the page of before. Only the
            # last round is compared: texts are costly, and a loop shows the page in each of its
            # rounds.
            for item in self.rounds[-1].evidence:
                is_fresh = is_fresh and not show_alike(features, item.features)
        # Call and answer together: a first success after failures, in usual words, is new.
        is_known = not (is_new or is_fresh) and self._has_seen(features)
        if kind is SILENT or kind is UNKNOWN:
            is_fresh = is_new  # the call alone can tell
        elif is_fresh and kind is not SUCCESS:
            is_fresh = kind.counts_down and self._is_step_forward(features)
        # One that came whole to another question is retold as well, and may acknowledge an act.
        may_retell = is_new and (is_fresh or features.only_looks)
        return JudgedCall(
            index,
            features,
            call_id=None if call.id is None else kept_id(call.id),
            ended_at=ended_at,
            is_fresh=is_fresh,
            is_new=is_new,
            is_known=is_known,
            is_retold=may_retell and retells(features, self.rounds),
        )

    def _is_step_forward(self, features: CallFeatures) -> bool:
        if not self.occurrences.ended_alike(features):
            return False
        earlier = ([item.features for item in each.evidence] for each in reversed(self.rounds))
        return is_step_forward(features, earlier)

    def _has_seen(self, features: CallFeatures) -> bool:
        """Whether the same call had the same result before; unknown results differ."""
        if features.result is None:
            return False
        earlier = (passed.calls.get(features.call) for passed in self.rounds)
        return any(item and item.result == features.result for item in earlier)

    def _trim(self) -> None:
        surplus = self._kept - self.size
        self._kept = self.size
        while surplus > 0:
            oldest, *self.rounds = self.rounds
            leaving = oldest.evidence
            if len(leaving) > surplus:
                # Part of a round leaves in an order that does not depend on that of the reply.
                leaving = oldest.sorted_evidence
                leaving = leaving[:surplus]
                gone = {item.call for item in leaving}
                staying = {key: item for key, item in oldest.calls.items() if key not in gone}
                self.rounds = [Round(oldest.number, staying), *self.rounds]
            self.occurrences.remove(leaving)
            surplus -= len(leaving)


def _is_time(value: Any) -> "TypeGuard[float]":
    # Recordings hold any value in these fields. JSON knows infinite numbers, and whole ones that no
    # float holds; the sum of two times must stay finite, too.
    return isinstance(value, (int, float)) and abs(value) < _MOST_S


def _round_bounds(calls: Sequence[ToolCall], start: int) -> Iterator[Tuple[int, int]]:
    """Yield first and last (exclusive) position of each round from `start` on."""
    first = start
    for position in range(start + 1, len(calls) + 1):
        ends = position == len(calls) or calls[position].round != calls[first].round
        if ends or calls[first].round is None:
            yield first, position
            first = position
