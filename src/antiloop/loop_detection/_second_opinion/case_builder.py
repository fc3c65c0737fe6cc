"""The case file of a run; a call that resembles an earlier one shows only the difference."""

from collections import Counter
from dataclasses import replace
from itertools import groupby
from typing import Callable, Dict, Iterator, List, Optional, Set, Tuple

from ..._short_repr import counted
from ..._text.difference import changed_part, new_lines, telling_part, tells
from ..._text.shortening import visible
from .._detection import LoopDetection
from .._evidence.window import Window
from .case_file import CaseCall, CaseFile, CaseRound
from .excerpts import Excerpt, Excerpts

MAX_SIBLINGS = 6
"""Calls of one round that are shown."""
_SHOWN = 1_000
"""Characters of each text that a case holds at most."""
_SHORT = 200
"""Characters of an answer that is shown as it is."""
_USUAL = 4
"""The number of different answers that hold a usual line."""
_SHOWN_AGAIN = 80
"""Characters of a text that is the same as an earlier one."""


def case_of(
    run_id: str,
    suspicion: float,
    found: Optional[LoopDetection],
    window: Window,
    excerpts: Excerpts,
) -> CaseFile:
    """Build the case file of a judge from the texts of the last calls.

    Args:
        run_id: the run's id.
        suspicion: of the last round.
        found: an uncertain finding, if there is one.
        window: what the detectors know of the run.
        excerpts: the texts of the last calls.
    """
    calls = list(excerpts.masked())
    # The same test after an edit is normal work, so a judge must see how many edits lay between.
    changes = [item.index for item in window if item.is_change]
    rounds = tuple(_rounds(calls, list(_compared(calls, changes))))
    return CaseFile(
        run_id,
        window.call_count - 1,
        round(suspicion, 3),
        rounds,
        "" if found is None else _counted(found),
        earlier=_summary(excerpts, window),
        user=excerpts.user,
        words=excerpts.words,
    )


def shows_enough(window: Window) -> bool:
    """Whether a judge can see something: an answer in the last round, or a call made before."""
    last = window.rounds[-1].evidence
    return any(
        # Of new calls with unknown answers there is nothing to tell work from a loop by.
        item.features.result is not None or window.occurrences.came(item.features) > 1
        for item in last
    )


def _counted(found: LoopDetection) -> str:
    """State what a detector counted but not what it means, which the judge is to find out."""
    # Hints such as "nothing new" made readers call honest work stuck.
    numbers = ", ".join(f"#{index}" for index in found.indices[-8:])
    of = f", the last ones {numbers}" if numbers else ""
    return f"the rule {found.detector_name} counted {counted(found.repetitions, 'time')}{of}"


def _summary(excerpts: Excerpts, window: Window) -> str:
    """Sum up the run in one line: the calls by tool, the changes, and when the user spoke."""
    tools = sorted(excerpts.counts.items(), key=lambda pair: -pair[1])
    named = ", ".join(f"{visible(name, 40)} {count}" for name, count in tools[:8])
    changes = sum(item.is_change for item in window)
    # "0 new changes" was read as a sign of a loop, and an agent that only reads makes none.
    recent = f"; {counted(changes, 'new change')} among the last {len(list(window))}"
    user = f"; the user spoke before #{window.turn_start}" if window.turn_start else ""
    return f"{counted(window.call_count, 'call')} so far ({named}){recent if changes else ''}{user}"


def _rounds(calls: List[Excerpt], shown: List[CaseCall]) -> Iterator[CaseRound]:
    pairs = zip(calls, shown)
    for _, grouped in groupby(pairs, key=lambda pair: pair[0].round):
        together = list(grouped)
        # One reply of thirty calls would leave no room for the rounds before it.
        kept = together[-MAX_SIBLINGS:]
        yield CaseRound(
            tuple(call for _, call in kept),
            together[0][0].after_user,
            len(together) - len(kept),
        )


def _compared(calls: List[Excerpt], changes: List[int]) -> Iterator[CaseCall]:
    """Yield each call as it compares to those before it."""
    asked: Dict[Tuple[str, str], List[int]] = {}
    answered: Dict[str, List[int]] = {}
    usual = _usual_lines(calls)
    calls = [replace(each, result=_without(usual, each.result)) for each in calls]
    for place, each in enumerate(calls):
        said = each.result or ""
        same = asked.setdefault((each.tool, each.arguments), [])
        same_result = answered.setdefault(said, []) if said else []
        earlier = [other for other in calls[:place] if other.tool == each.tool]
        # An equal call needs no difference: it is named, and a few words remind of it.
        near, arguments = None, each.arguments
        if not same:
            asked_before = [(other.index, other.arguments) for other in earlier]
            near, arguments = _nearest(asked_before, each.arguments, changed_part)
        near_result, result = None, said
        if not same_result:
            said_before = [(other.index, other.result or "") for other in earlier]
            near_result, result = _nearest(said_before, said, new_lines)
        yield CaseCall(
            each.index,
            each.tool,
            telling_part(arguments, _SHOWN_AGAIN if same else _SHOWN),
            telling_part(result, _SHOWN_AGAIN if same_result else _SHOWN),
            tuple(same),
            near,
            tuple(same_result),
            near_result,
            sum(same[-1] < index < each.index for index in changes) if same else 0,
            each.is_error,
            each.result is not None,
        )
        same.append(each.index)
        same_result.append(each.index)


def _usual_lines(calls: List[Excerpt]) -> Set[str]:
    """Return the lines that several answers have in common: banners, prompts, notes on a page."""
    answers = {each.result for each in calls if each.result}
    counts = Counter(line for answer in answers for line in set(answer.splitlines()))
    return {line for line, count in counts.items() if count >= _USUAL and not tells(line)}


def _without(usual: Set[str], answer: Optional[str]) -> Optional[str]:
    """Return a long answer without its usual lines, which would fill it once it is cut."""
    if answer is None or len(answer) <= _SHORT:
        return answer
    return "\n".join(line for line in answer.splitlines() if line not in usual) or answer


def _nearest(
    earlier: List[Tuple[int, str]], text: str, difference: Callable[[str, str], Optional[str]]
) -> Tuple[Optional[int], str]:
    """Return the number of the call with the most similar text, and the difference to it.

    Without a similar one, return the text itself.
    """
    best: Tuple[Optional[int], str] = (None, text)
    # Of equally short differences, the one to the latest call counts: it was read last.
    for index, other in reversed(earlier):
        changed = difference(other, text) if text else None
        if changed is not None and len(changed) < len(best[1]):
            best = (index, changed)
    return best
