"""Streaks: calls of one kind with little that is new in between."""

from typing import Callable, List, Optional, Protocol, Sequence

from .call_features import CallFeatures
from .effect import seems_to_be_shell
from .outcome import SUCCESS, WAITING
from .round import JudgedCall, Round, fingerprint_of
from .sameness import acknowledges
from .window import Window


def streak_of(
    window: Window,
    matches: Callable[[JudgedCall], bool],
    ends: Callable[[JudgedCall], bool] = lambda _: False,
    fresh_per_match: float = 1.0,
) -> List[JudgedCall]:
    """Return the latest calls that match, oldest first, while little new comes in between.

    One matching call counts for each round. Going back from the last round, the streak ends at
    a call that changed the world in a new way, at a step forward, at a call that `ends` it, and
    where something new came in more than `fresh_per_match` rounds for each matching call.
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
        # One more than was found: what is new may lie before the next match.
        if fresh > fresh_per_match * (len(found) + 1) or (match is None and is_over):
            break
        if match is not None:
            found.append(match)
        # The match itself still counts: it came after the change, or is the first of a new streak.
        if is_change or (match is not None and match.is_step_forward):
            break
    found.reverse()
    return found


def goes_on(streak: Sequence[JudgedCall]) -> bool:
    """Whether each call of a streak waits, or moves on without saying where it leads."""
    return all(item.outcome is WAITING or item.features.moves for item in streak)


def is_paced(window: Window, streak: Sequence[JudgedCall]) -> bool:
    """Whether a wait lies between each two calls of a streak: the agent looks now and then."""
    return _lie_between(window, streak, lambda item: item.features.waits)


def is_amid_work(window: Window, streak: Sequence[JudgedCall]) -> bool:
    """Whether something new came between each two calls of a streak: that is a habit."""
    return _lie_between(window, streak, lambda item: item.brings_news)


def is_amid_acts(window: Window, streak: Sequence[JudgedCall]) -> bool:
    """Whether a call acts, and leads on each time although it is answered alike.

    Between each two of its calls something new was seen. Another act that was acknowledged is
    enough between mere acknowledgments; what says more may be the look at these acts. A command
    line that passes alike, such as a check, does so where another one ran between, and said more.
    The line that a debugger receives is not one of these.

    Calls in a row are one act, so it may be made twice before each look.
    """
    latest = streak[-1].features
    ends = [each[-1] for each in _rows_of(window, streak)]
    if _runs(latest) and _lie_between(window, ends, _is_new_work):
        return True
    if latest.is_long or not _may_act(latest):
        return False
    counts_acts = acknowledges(latest)
    return _lie_between(window, ends, lambda item: _leads_on(window, item, counts_acts))


def _rows_of(window: Window, streak: Sequence[JudgedCall]) -> List[List[JudgedCall]]:
    """Return the calls of a streak, those of rounds in a row together."""
    indices = {item.index for item in streak}
    rows: List[List[JudgedCall]] = []
    is_in_row = False
    for passed in window.rounds:
        found = [item for item in passed.evidence if item.index in indices]
        if found and not is_in_row:
            rows.append([])
        if found:
            rows[-1].extend(found)
        is_in_row = bool(found)
    return rows


def may_lead_on(window: Window, streak: Sequence[JudgedCall]) -> bool:
    """Whether a call that need not be a look shows the same amid new work.

    It may be the way back to a list, of which one entry after the other is opened.
    """
    return _may_act(streak[-1].features) and is_amid_work(window, streak)


def _may_act(features: CallFeatures) -> bool:
    is_line = features.is_command and seems_to_be_shell(features.tool)
    return features.outcome is SUCCESS and not (features.only_looks or is_line)


def _is_new_work(item: JudgedCall) -> bool:
    return item.is_new and item.is_fresh and _runs(item.features)


def _runs(features: CallFeatures) -> bool:
    """Whether a command line went well, and was not made for its answer alone."""
    return features.is_command and features.outcome is SUCCESS and not features.only_looks


def _leads_on(window: Window, item: JudgedCall, counts_acts: bool) -> bool:
    features = item.features
    if item.is_new:
        return item.brings_news or (counts_acts and acknowledges(features))
    # A look that shows the same with another time brings nothing new, and neither does another id
    # in the answer to the same act.
    if features.mutates or not item.brings_news:
        return False
    earlier = [each.features for each in window if each.index < item.index]
    return all(each.steady != features.steady for each in earlier if each.call == features.call)


def is_part_of_poll(window: Window, streak: Sequence[JudgedCall], idle: int) -> bool:
    """Whether a call always comes with the same others, of which one still waits or brings news.

    Of three jobs two have ended: their answers stay, and they are asked along with the third.

    Args:
        window: the window.
        streak: the call, oldest first.
        idle: rounds in which nothing waits or is new that are enough for a loop.
    """
    call = streak[-1].call
    if any(item.call != call for item in streak):
        return False
    rounds = [each for each in window.rounds if call in each.calls][-len(streak) :]
    if len({each.fingerprints for each in rounds}) > 1:
        return False
    # What the first one brought is what the others are compared with.
    return sum(not _goes_on_beside(each, call) for each in rounds[1:]) < idle - 1


def _goes_on_beside(passed: Round, call: str) -> bool:
    others = (item for key, item in passed.calls.items() if key != call)
    waits = any(item.outcome is WAITING for item in others)
    return waits or passed.brings_news_beside(call)


def _lie_between(
    window: Window, streak: Sequence[JudgedCall], fits: Callable[[JudgedCall], bool]
) -> bool:
    """Whether a call that fits lies between each two calls of a streak."""
    indices = {item.index for item in streak}
    has_come = True  # nothing has to lie behind the last one
    for passed in reversed(window.rounds):
        others = [item for item in passed.evidence if item.index not in indices]
        # What is beside a call in one reply came neither before nor after it.
        has_come = has_come or any(map(fits, others))
        found = len(passed.evidence) - len(others)
        if found > 1 or (found and not has_come):
            return False
        has_come = has_come and not found
    return len(streak) > 1


class Patient(Protocol):
    """A detector that allows more rounds for calls that wait for work elsewhere."""

    name: str
    patience: int
    patience_s: Optional[int]


def rounds_needed(detector: Patient, streak: Sequence[JudgedCall], usual: int) -> int:
    """Return how many rounds a streak needs, given the time that it took, if that is known.

    Args:
        detector: what needs them.
        streak: calls, oldest first.
        usual: rounds of calls that neither wait nor move.
    """
    if not goes_on(streak):
        return usual
    waits = all(item.outcome is WAITING for item in streak)
    took = seconds_of(streak) if waits else None
    if took is None or detector.patience_s is None:
        return detector.patience
    # Until the time has passed, no number of rounds is enough: one more than there are.
    return usual if took >= detector.patience_s else len(streak) + 1


def is_early(window: Window, detector: Patient, streak: Sequence[JudgedCall]) -> bool:
    """Whether only the clock says that calls have waited for long enough, and not the rounds.

    A few long waits may be all that a slow build needs, so the model gets a notice, and no more.
    """
    if detector.patience_s is None or len(streak) >= detector.patience:
        return False
    if not streak or not goes_on(streak):
        return False
    # A threshold that is declared for the tool says that so many rounds are enough.
    is_declared = detector.name in window.policy(streak[-1].tool).thresholds
    return not is_declared and seconds_of(streak) is not None


def seconds_of(streak: Sequence[JudgedCall]) -> Optional[float]:
    """Return the time from the first to the last answer; None where it is not known.

    The clock of another machine may go backwards; then the time is not known.
    """
    times = [item.ended_at for item in streak if item.ended_at is not None]
    is_known = len(times) == len(streak) and times == sorted(times)
    return times[-1] - times[0] if is_known else None
