"""The suspicion: one number for how close a run is to being stuck.

Every kind of evidence that the detectors weigh is counted here in the cheapest way, far below the
thresholds. One kind alone says little; the number grows as kinds agree.
"""

from itertools import takewhile
from typing import Callable, List, Tuple

from .call_features import CallFeatures
from .round import FAILED, KNOWN, UNPRODUCTIVE, VAIN, JudgedCall, Round
from .window import Window

KEPT_ROUNDS = 12
"""The number of rounds that are looked at."""
_NEAR_ROUNDS = 16
_RECENT = 8
_FULL = 5.5
"""The sum of all kinds that stands for certainty."""
_FRUITFUL = 0.5
"""The weight that the evidence keeps after a round that brought something new."""
_LEAD = 0.14
"""One round alone must exceed the bound for two rounds by this amount."""
_FEW = 1.5
"""Below this sum, what is costly to count is left out."""
_MOST = 0.99
"""The largest suspicion from counting alone; 1 is kept for a finding of a detector."""


class Suspicion:
    """The worth of the last rounds of one run."""

    def __init__(self) -> None:
        self._round = 0
        self._value = self._before = 0.0

    def after(self, window: Window) -> float:
        """Take in the last round of the window, and return the suspicion, 0 to below 1."""
        if not window.rounds:
            return 0.0
        if window.round_count == self._round:  # calls of the same round came one by one
            self._value = self._before
        self._round, self._before = window.round_count, self._value
        if window.rounds[-1].traits:
            self._value = min(_MOST, _weighed(window) / _FULL)
        elif self._value:
            is_recent = any(passed.traits for passed in window.rounds[-KEPT_ROUNDS:])
            self._value = self._value * _FRUITFUL if is_recent else 0.0
        return self._value

    @property
    def lasting(self) -> float:
        """The suspicion that held for two rounds, or that one round far exceeds."""
        return max(min(self._before, self._value), self._value - _LEAD)

    def clear(self) -> None:
        """Forget the rounds: something has moved."""
        self._value = self._before = 0.0

    def to_text(self) -> str:
        """Return the state as one short text."""
        return f"{self._value} {self._before}"

    def load(self, text: str, round_number: int) -> None:
        """Take over a state that `to_text` gave after this round."""
        value, before = text.split(" ")
        self._value, self._before = float(value), float(before)
        self._round = round_number


def evidence_of(window: Window, rounds: int) -> float:
    """Return the evidence in the last rounds of a window; 1 is enough for a finding.

    0 if one of the last `rounds` rounds bears none, or if all of it is failures in different words:
    another answer to the same call is new.
    """
    recent = [passed.traits for passed in window.rounds[-KEPT_ROUNDS:]]
    last = [passed.traits for passed in window.rounds[-rounds:]]
    if len(last) < rounds or not all(last) or not any(each & (KNOWN | VAIN) for each in recent):
        return 0.0
    return _weighed(window) / _FULL


def _weighed(window: Window) -> float:
    """Add up the kinds of evidence of the last rounds.

    The weights are those of a logistic regression on labeled runs, rounded; with any part of the
    runs left out they come out nearly the same.
    """
    traits = [passed.traits for passed in window.rounds[-KEPT_ROUNDS:]]
    if len(traits) - traits.count(0) < 2:
        return 0.0  # no kind of evidence counts in a single round
    row = takewhile(UNPRODUCTIVE.__and__, reversed(traits))
    recent = traits[-_RECENT:]
    total = (
        1.5 * _share(len(list(row)), 1, 5)
        + 1.5 * _share(_count(recent, UNPRODUCTIVE), 2, 5)
        + 3.0 * _share(_count(recent, KNOWN), 1, 5)
        + 3.0 * _share(_count(recent, VAIN), 2, 5)
        + 1.5 * _share(_count(traits, FAILED), 2, 7)
    )
    if total < _FEW:
        return total
    answered, alike, same = _repeated(window, window.rounds[-1])
    return total + 2.0 * _share(answered, 1, 5) + 1.5 * _share(alike, 1, 4) + _share(same, 1, 3)


def _repeated(window: Window, last: Round) -> Tuple[int, int, int]:
    """Count equal answers, nearly equal calls, and failures in the same words, of the last round.

    A failure is compared by its words, any other unproductive call by its arguments; each is enough
    to tell, and a healthy step pays for neither.
    """
    answered = alike = same = 0
    for item in last.evidence:
        features = item.features
        if features.result is not None and features.outcome.says_something:
            answered = max(answered, window.occurrences.answered(features))
        if not item.is_unproductive:
            continue
        if not features.outcome.is_failure:
            alike = max(alike, _rounds_with(window, features, _is_near))
            continue
        # More than one: the call of this round is counted as well.
        if window.occurrences.came(features) > 1:
            alike = max(alike, _rounds_with(window, features, _is_same))
        if window.occurrences.ended_alike(features) > 1:
            same = max(same, _rounds_with(window, features, _fails_alike))
    return answered, alike, same


def _rounds_with(
    window: Window, latest: CallFeatures, matches: Callable[[JudgedCall, CallFeatures], bool]
) -> int:
    """Count the rounds with a call of the same tool that matches the latest one."""
    return sum(
        any(item.tool == latest.tool and matches(item, latest) for item in passed.evidence)
        for passed in window.rounds[-_NEAR_ROUNDS:]
    )


def _is_near(item: JudgedCall, latest: CallFeatures) -> bool:
    return item.is_unproductive and (item.call == latest.call or item.features.near == latest.near)


def _is_same(item: JudgedCall, latest: CallFeatures) -> bool:
    return item.call == latest.call and item.is_unproductive


def _fails_alike(item: JudgedCall, latest: CallFeatures) -> bool:
    features = item.features
    return features.outcome is latest.outcome and features.wording == latest.wording


def _count(traits: List[int], bit: int) -> int:
    return sum(map(bit.__and__, traits)) // bit


def _share(count: int, usual: int, span: int) -> float:
    """Return the position of a count between a usual one (0) and one that is too much (1)."""
    return 0.0 if count <= usual else min(1.0, (count - usual) / span)
