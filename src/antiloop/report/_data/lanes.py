"""Place the marks of a run so that a loop can be seen.

A recurring call is drawn in a lane (a separate column) for as long as it keeps recurring.
A repeat is then a straight line and a cycle a zigzag, whatever its length, and laps line up.
"""

from collections import Counter, defaultdict
from typing import Dict, List, NamedTuple, Sequence

LANES = 6
"""Lanes at most; calls beyond that share the last one, where their letters tell them apart."""
TONES = 8
"""Colors of marks; the next shape begins with the first color again."""
SHAPES = 3
"""Shapes of marks; when all are used, letters go on."""
_PATIENCE = 20
"""Steps after which a call that did not come back gives its lane up."""


class _Streak(NamedTuple):
    """A stretch of a run in which one call keeps coming back."""

    steps: List[int]
    call: str


def marks_of(calls: Sequence[str]) -> Dict[str, int]:
    """Return a number for each call that comes back, the most frequent first.

    >>> marks_of(["a", "b", "c", "b"])
    {'b': 0}
    """
    returning = (call for call, count in Counter(calls).most_common() if count > 1)
    return {call: number for number, call in enumerate(returning)}


def letters(number: int) -> str:
    """Name a mark as a column of a spreadsheet is named.

    >>> letters(0), letters(25), letters(26)
    ('A', 'Z', 'AA')
    """
    text = ""
    while number >= 0:
        number, digit = divmod(number, 26)
        text = chr(ord("A") + digit) + text
        number -= 1
    return text


def lanes_of(calls: Sequence[str]) -> List[int]:
    """Return the lane of each call; calls that do not come back are in lane 0.

    >>> lanes_of(["a", "b", "a", "b", "c"])
    [0, 1, 0, 1, 0]
    """
    lanes = [0] * len(calls)
    free_from = [0] * LANES
    home: Dict[str, int] = {}
    for streak in _streaks(calls):
        start = streak.steps[0]
        lane = _free_lane(free_from, start, home.get(streak.call, 0))
        home[streak.call] = lane
        free_from[lane] = max(free_from[lane], streak.steps[-1] + 1)
        for step in streak.steps:
            lanes[step] = lane
    return lanes


def _free_lane(free_from: List[int], start: int, wanted: int) -> int:
    """Choose the lane that a call had before, else the first that is free, else the last."""
    if free_from[wanted] <= start:
        return wanted
    return next((lane for lane, free in enumerate(free_from) if free <= start), LANES - 1)


def _streaks(calls: Sequence[str]) -> List[_Streak]:
    """Return the streaks of all calls that come back, in the order in which they begin."""
    steps_of: Dict[str, List[int]] = defaultdict(list)
    for step, call in enumerate(calls):
        steps_of[call].append(step)
    streaks: List[_Streak] = []
    for call, steps in steps_of.items():
        first = 0
        for position in range(1, len(steps) + 1):
            if position == len(steps) or steps[position] - steps[position - 1] > _PATIENCE:
                streaks.append(_Streak(steps[first:position], call))
                first = position
    return sorted(streak for streak in streaks if len(steps_of[streak.call]) > 1)
