"""The same few calls in the same order, lap after lap."""

from typing import List, Optional, Sequence, Tuple

from ..._checks import check_text, check_threshold
from ..._text.shortening import NAME_LENGTH, shortened
from ...stability import stable
from .._detection import LoopDetection
from .._evidence.call_features import CallFeatures
from .._evidence.outcome import WAITING
from .._evidence.refusal import tool_key
from .._evidence.round import JudgedCall, Round
from .._evidence.sameness import acknowledges, differ
from .._evidence.streak import rounds_needed
from .._evidence.window import Window
from .base import SHOWN_CALLS, WindowDetector, call_names, detection, eased, patience_of

MATCHES = ("content", "calls", "tool_names")
SHOWN_ARGUMENTS = 40
"""Characters of the arguments that a message shows to distinguish calls of one tool."""


@stable
class PingPongDetector(WindowDetector):
    """Find a cycle of rounds that repeats: A B A B A B, or any longer one.

    The members of a cycle are calls with their results, if both are known, so two alternating polls
    with changing results are not a cycle. A "cycle" of one and the same call is a repeat, not a
    ping-pong.

    Args:
        cycle_length: the longest cycle to find, in rounds, 2 or more; all shorter ones are found.
        repetitions: laps that make a loop, 2 or more.
        match: ``"content"`` compares tool, arguments and result, ``"calls"`` tool and arguments,
            ``"tool_names"`` names only.
        patience: laps needed if a result in the cycle says that work is in progress, or if acts
            were acknowledged and what they led to is not known; by default `repetitions`.
        patience_s: seconds that such a cycle may go on, instead of laps, where the run says when
            its calls were made or how long they took; by default laps decide.
        name: another name, for a second detector of this class.

    Raises:
        ValueError: if a number is below 2, patience below repetitions, or match is unknown.
    """

    def __init__(
        self,
        cycle_length: int = 2,
        repetitions: int = 3,
        *,
        match: str = "content",
        patience: Optional[int] = None,
        patience_s: Optional[int] = None,
        name: str = "ping_pong",
    ) -> None:
        check_text("name", name)
        self.name = name
        check_threshold("cycle_length", cycle_length)
        check_threshold("repetitions", repetitions)
        if match not in MATCHES:
            raise ValueError(f"match must be one of {', '.join(MATCHES)}, got {match!r}")
        self.cycle_length = cycle_length
        self.repetitions = repetitions
        self.match = match
        self.patience: int = patience_of(repetitions, patience, patience_s)
        self.patience_s = patience_s
        self.span: int = cycle_length * repetitions

    @property
    def ignores_new_rounds(self) -> bool:  # type: ignore[override]
        """Whether a new round never completes a cycle; its tool names may do so."""
        return self.match != "tool_names"

    @property
    def reach(self) -> int:
        """Largest number of rounds for a first finding, patience included."""
        return self.cycle_length * self.patience

    def find(self, window: Window) -> Optional[LoopDetection]:
        """Find the shortest cycle that has a lap ending with the last round."""
        rounds = window.rounds
        # A tool of the cycle may be declared to need fewer laps than the detector.
        least = window.lowest(self.name, self.repetitions)
        if len(rounds) < 2 * least or not self._may_cycle(window, rounds[-1], least):
            return None
        # A cycle that the window cannot hold as often as needed is not looked for.
        longest = min(self.cycle_length, len(rounds) // least)
        # No more rounds than the shortest loop needs: most runs end at the next lines.
        signatures = [self._signature(passed) for passed in rounds[-least * longest :]]
        if len(set(signatures)) == 1:
            return None  # the same round again and again is not a cycle; most repeats end here
        for period in range(2, longest + 1):
            if _is_cycle(signatures, period, least):
                count = self._periodic(rounds, period)
                if count >= period * self._needed(window, rounds[-count:], period):
                    found = self._detection(rounds[-count:], period)
                    return eased(found, window, self, _waits(rounds[-count:]))
        return None

    def _may_cycle(self, window: Window, last: Round, least: int) -> bool:
        """Whether the calls of the last round came often enough, which is cheap to find out."""
        if self.match != "tool_names":
            for item in last.evidence:
                if window.occurrences.came(item.features) < least:
                    return False
        return True

    def _signature(self, passed: Round) -> str:
        return " ".join(_tools(passed)) if self.match == "tool_names" else passed.fingerprints

    def _periodic(self, rounds: Sequence[Round], period: int) -> int:
        """Count the rounds at the end that equal the one a period before, and the first lap."""
        count = period
        while count < len(rounds) and self._same(rounds[-1 - count], rounds[-1 - count + period]):
            count += 1
        return count - count % period

    def _same(self, earlier: Round, later: Round) -> bool:
        if self._signature(earlier) != self._signature(later):
            return False
        # An unknown result and a refusal differ from nothing, so a cycle goes on across them.
        if self.match != "content":
            return True
        return not any(
            differ(item.features, later.calls[call].features)
            for call, item in earlier.calls.items()
        )

    def _needed(self, window: Window, rounds: Sequence[Round], period: int) -> int:
        features = [item.features for passed in rounds[-period:] for item in passed.evidence]
        declared = [window.policy(each.tool).thresholds.get(self.name) for each in features]
        waits, usual = _waits(rounds), self.repetitions
        if waits:
            usual = rounds_needed(self, waits, usual)
        elif _is_unseen(features):
            usual = self.patience
        # Of several declarations the most patient one holds: the user knows one of the tools to be
        # slow.
        return max((number for number in declared if number is not None), default=usual)

    def _detection(self, rounds: Sequence[Round], period: int) -> LoopDetection:
        lap = rounds[-period:]
        tools = ["+".join(_tools(passed)) for passed in lap]
        named = tools if self.match == "tool_names" else _telling(tools, lap)
        count = len(rounds) // period
        found: List[JudgedCall] = [item for passed in rounds for item in passed.evidence]
        return detection(
            self.name,
            f"{_named(named)} was repeated {count} times.",
            found,
            period=period,
            lap=found[-(len(found) // count) :],
            times=f" {count} times",
            label=_named(tools if self.match == "tool_names" else _summed(lap)),
            identity=_first_rotation([self._signature(each) for each in lap]),
            details={
                "tool": found[-1].tool,
                "cycle": [shortened(each, NAME_LENGTH) for each in tools],
                "repetitions": count,
                "count": len(rounds),
            },
            refused=_keys(lap) if self.match == "tool_names" else None,
        )


def _is_unseen(features: Sequence[CallFeatures]) -> bool:
    """Whether a lap moves or has its acts acknowledged, and no other answer is known."""
    acts = [each for each in features if each.moves or acknowledges(each)]
    others = [each for each in features if each not in acts]
    return bool(acts) and bool(others) and all(each.result is None for each in others)


def _waits(rounds: Sequence[Round]) -> List[JudgedCall]:
    items = [item for passed in rounds for item in passed.evidence]
    return [item for item in items if item.outcome is WAITING]


def _is_cycle(signatures: List[str], period: int, laps: int) -> bool:
    """Whether the last laps are equal, and a lap is more than one and the same round."""
    back = period * (laps - 1)
    # Lists compare in one go, which matters because most rounds end here.
    is_same = signatures[-back:] == signatures[-back - period : -period]
    return is_same and len(set(signatures[-period:])) > 1


def _tools(passed: Round) -> List[str]:
    return sorted({item.tool for item in passed.evidence})


def _keys(lap: Sequence[Round]) -> Tuple[str, ...]:
    tools = dict.fromkeys(item.tool for passed in lap for item in passed.evidence)
    return tuple(map(tool_key, tools))


def _telling(tools: List[str], lap: Sequence[Round]) -> List[str]:
    """Describe the rounds of a short lap by their arguments, if only these distinguish them."""
    if len(set(tools)) == len(lap) or sum(len(passed.evidence) for passed in lap) > SHOWN_CALLS:
        return tools
    calls = ["+".join(map(_call, passed.evidence)) for passed in lap]
    return calls if len(set(calls)) == len(lap) else tools


def _summed(lap: Sequence[Round]) -> List[str]:
    """Name the calls of each round of a lap."""
    names = iter(call_names([item for passed in lap for item in passed.evidence]))
    return [" + ".join(next(names) for _ in passed.evidence) for passed in lap]


def _call(item: JudgedCall) -> str:
    return f"{item.tool} {shortened(item.features.shown.label, SHOWN_ARGUMENTS)}"


def _first_rotation(lap: List[str]) -> List[str]:
    """Return the smallest rotation of a cycle, so that its start does not matter."""
    # A B A B and B A B A are one loop, at whichever of the two it is found first.
    return min(lap[start:] + lap[:start] for start in range(len(lap)))


def _named(tools: List[str]) -> str:
    if len(tools) <= SHOWN_CALLS:
        return " -> ".join(tools)
    return f"{' -> '.join(tools[:SHOWN_CALLS])} -> ... ({len(tools)} rounds)"
