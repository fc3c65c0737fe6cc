"""Calls of one kind, as long as little new comes in between."""

from typing import Callable, List, Optional

from .call_features import CallFeatures
from .judged_call import JudgedCall
from .round import fingerprint_of
from .sameness import may_say_alike
from .window import Window


def streak_of(
    window: Window,
    matches: Callable[[JudgedCall], bool],
    ends: Callable[[JudgedCall], bool] = lambda _: False,
    fresh_per_match: float = 1.0,
) -> List[JudgedCall]:
    """Return the latest calls that match, oldest first, while little new comes in between.

    Of each round, one matching call counts. Going back from the last round, the streak is over
    at a call that changed the world in a new way, at a step forward or at what `ends` it, and
    where the rounds with something new beside or between the matching calls are more than
    `fresh_per_match` for each of these.
    """
    found: List[JudgedCall] = []
    fresh = 0
    for passed in reversed(window.rounds):
        match: Optional[JudgedCall] = None
        is_fresh = is_over = is_change = False
        for item in passed.evidence:
            if matches(item):
                match = item if match is None else min(match, item, key=fingerprint_of)
            else:
                is_fresh = is_fresh or item.is_fresh
                is_change = is_change or item.is_change
                is_over = is_over or ends(item)
        fresh += is_fresh
        if fresh > fresh_per_match * (len(found) + 1) or (match is None and is_over):
            break
        if match is not None:
            found.append(match)
        if is_change or (match is not None and match.is_step_forward):
            break
    found.reverse()
    return found


def may_be_streak(
    window: Window, latest: CallFeatures, needed: int, fresh_per_match: float
) -> bool:
    """Whether a streak of calls that say the same as the latest one may reach a length.

    The same walk as that of `streak_of`, with a quick test that lets too much through: most
    failures of a healthy run are settled before their words are compared.

    Args:
        window: the window.
        latest: the features of a call of the last round.
        needed: the length.
        fresh_per_match: as for `streak_of`.
    """
    if window.tally.count_possibly_alike(latest) < needed:
        return False
    count = fresh = 0
    for passed in reversed(window.rounds):
        may_match = is_fresh = False
        for item in passed.evidence:
            if may_say_alike(item.features, latest):
                may_match = True
            else:
                is_fresh = is_fresh or item.is_fresh
        fresh += is_fresh
        if fresh > fresh_per_match * (count + 1):
            return False
        count += may_match
        if count >= needed:
            return True
    return False
