"""The laps of a loop, and what was the same from each to the next."""

from bisect import bisect_right
from itertools import chain, zip_longest
from typing import Dict, List, NamedTuple, Optional, Sequence

from ..._text_enum import TextEnum
from ...loop_detection import Outcome
from ...loop_detection._internal import CallFeatures, differ
from .loops import Loop

LAPS = 100
"""Laps that the page keeps of a loop: the first half and the last half of them."""


class Sameness(TextEnum):
    """Say how a call or result of a lap compares with that of the lap before."""

    SAME = "the same"
    NOISE = "the same but for noise"
    OTHER = "another"
    UNKNOWN = "unknown"


class Lap(NamedTuple):
    """One lap."""

    number: int
    """Counted from 1."""
    steps: List[int]
    """Its calls, oldest first."""
    calls: Optional[Sameness]
    """The calls compared with those of the lap before; None for the first lap."""
    results: Optional[Sameness]
    """The results compared with those of the lap before; None for the first lap."""


def laps_of(loop: Loop, features: Sequence[CallFeatures], rounds: Sequence[int]) -> List[Lap]:
    """Return the laps of a loop, each compared with the one before."""
    steps = [step for step in loop.steps if step < len(features)]
    turns = _turns(steps, rounds)
    laps = _cut(turns, loop.period, features)
    compared = [Lap(1, laps[0], None, None)] if laps else []
    for number, (earlier, later) in enumerate(zip(laps, laps[1:]), 2):
        compared.append(_compared(number, earlier, later, features))
    return compared


def kept(laps: List[Lap]) -> List[Lap]:
    """Leave out laps in the middle of very many."""
    return laps if len(laps) <= LAPS else laps[: LAPS // 2] + laps[-LAPS // 2 :]


def summary_of(laps: Sequence[Lap]) -> str:
    """Return a sentence: what was the same from lap to lap, and what differed."""
    if len(laps) < 2:
        return ""
    calls = _sentence("The calls", [lap.calls for lap in laps[1:] if lap.calls])
    results = _sentence("the results", [lap.results for lap in laps[1:] if lap.results])
    return f"From lap to lap: {calls[0].lower()}{calls[1:]}; {results}."


def _sentence(what: str, found: Sequence[Sameness]) -> str:
    others = sum(each is Sameness.OTHER for each in found)
    if others == len(found):
        return f"{what} differed every time"
    if others:
        return f"{what} differed {others} of {len(found)} times"
    if all(each is Sameness.UNKNOWN for each in found):
        return f"{what} are not known"
    has_noise = any(each is Sameness.NOISE for each in found)
    return f"{what} were the same{' but for noise' if has_noise else ''}"


def _turns(steps: Sequence[int], rounds: Sequence[int]) -> List[List[int]]:
    """Group the calls of one round."""
    turns: Dict[int, List[int]] = {}
    for step in steps:
        turns.setdefault(bisect_right(rounds, step), []).append(step)
    return list(turns.values())


def _cut(turns: List[List[int]], period: int, features: Sequence[CallFeatures]) -> List[List[int]]:
    """Cut the rounds of a loop into laps: where its first call comes again, or by their number."""
    if not turns or period == 1:
        return turns
    first = features[turns[0][0]].call
    starts = [at for at, turn in enumerate(turns) if any(features[s].call == first for s in turn)]
    if len(starts) < 2:
        starts = list(range(0, len(turns), period))
    stops = [*starts[1:], len(turns)]
    return [list(chain.from_iterable(turns[start:stop])) for start, stop in zip(starts, stops)]


def _compared(
    number: int, earlier: List[int], later: List[int], features: Sequence[CallFeatures]
) -> Lap:
    pairs = list(zip_longest(earlier, later))
    calls = max((_calls(features, *pair) for pair in pairs), key=_RANK.index)
    results = max((_results(features, *pair) for pair in pairs), key=_RANK.index)
    return Lap(number, later, calls, results)


_RANK = [Sameness.SAME, Sameness.NOISE, Sameness.UNKNOWN, Sameness.OTHER]


def _calls(features: Sequence[CallFeatures], one: Optional[int], other: Optional[int]) -> Sameness:
    if one is None or other is None:
        return Sameness.OTHER
    return Sameness.SAME if features[one].call == features[other].call else Sameness.OTHER


def _results(
    features: Sequence[CallFeatures], one: Optional[int], other: Optional[int]
) -> Sameness:
    if one is None or other is None:
        return Sameness.OTHER
    earlier, later = features[one], features[other]
    if earlier.result is None or later.result is None:
        return Sameness.UNKNOWN
    if earlier.result == later.result:
        return Sameness.SAME
    is_refused = Outcome.REFUSED in (earlier.outcome, later.outcome)
    return Sameness.OTHER if is_refused or differ(earlier, later) else Sameness.NOISE
