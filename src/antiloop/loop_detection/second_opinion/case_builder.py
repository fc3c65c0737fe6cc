"""Making a case of what is known of a run: of a repeat it shows only what differs."""

from itertools import groupby
from typing import Callable, Dict, Iterator, List, Optional, Tuple

from ..evidence.window import Window
from ..text.difference import changed_part, new_lines
from ..text.shortening import ends_of
from .case_file import CaseFile
from .case_round import CaseCall, CaseRound
from .excerpts import Excerpt, Excerpts

MAX_SIBLINGS = 6
"""Calls of one round that are shown."""
_SHOWN = 1_000
"""Characters of each text that a case holds at most."""
_SHOWN_AGAIN = 80
"""Characters of a text that is the same as an earlier one."""


def case_of(
    run_id: str, suspicion: float, found: str, window: Window, excerpts: Excerpts
) -> CaseFile:
    """Build the case file of a judge."""
    calls = list(excerpts.masked())
    changes = [item.index for item in window if item.is_change]
    shown = list(_compared(calls, changes))
    rounds = tuple(_rounds(calls, shown))
    return CaseFile(run_id, window.call_count - 1, round(suspicion, 3), rounds, found)


def _rounds(calls: List[Excerpt], shown: List[CaseCall]) -> Iterator[CaseRound]:
    pairs = zip(calls, shown)
    for _, grouped in groupby(pairs, key=lambda pair: pair[0].round):
        together = list(grouped)
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
    for place, each in enumerate(calls):
        same = asked.setdefault((each.tool, each.arguments), [])
        same_result = answered.setdefault(each.result, []) if each.result else []
        earlier = [other for other in calls[:place] if other.tool == each.tool]
        near, arguments = None, each.arguments
        if not same:
            near, arguments = _nearest(earlier, each.arguments, _arguments, changed_part)
        near_result, result = None, each.result
        if not same_result:
            near_result, result = _nearest(earlier, each.result, _result, new_lines)
        yield CaseCall(
            each.index,
            each.tool,
            ends_of(arguments, _SHOWN_AGAIN if same else _SHOWN),
            ends_of(result, _SHOWN_AGAIN if same_result else _SHOWN),
            tuple(same),
            near,
            tuple(same_result),
            near_result,
            sum(same[-1] < index < each.index for index in changes) if same else 0,
            each.is_error,
            each.is_known,
        )
        same.append(each.index)
        same_result.append(each.index)


def _arguments(call: Excerpt) -> str:
    return call.arguments


def _result(call: Excerpt) -> str:
    return call.result


def _nearest(
    earlier: List[Excerpt],
    text: str,
    part: Callable[[Excerpt], str],
    difference: Callable[[str, str], Optional[str]],
) -> Tuple[Optional[int], str]:
    """Return the earlier call with the most similar text, and the difference; else the text."""
    best: Tuple[Optional[int], str] = (None, text)
    for other in reversed(earlier):
        changed = difference(part(other), text) if text else None
        if changed is not None and len(changed) < len(best[1]):
            best = (other.index, changed)
    return best
