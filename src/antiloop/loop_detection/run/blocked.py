"""The loops of a run that are blocked."""

from dataclasses import replace
from typing import List, Sequence

from ..detection import LoopDetection, LoopSeverity
from ..detectors.base import detection
from ..evidence.judged_call import JudgedCall
from ..evidence.outcome import Outcome
from ..evidence.window import Window
from ..ladder import Block, Ladder


def refused_again(
    ladder: Ladder, window: Window, found: Sequence[LoopDetection]
) -> List[LoopDetection]:
    """Return the blocked loops with a call refused again, and end the other blocks.

    Args:
        ladder: that of the run.
        window: what the last round is in.
        found: what the detectors found in this round.
    """
    again = []
    known = {each.identity for each in found}
    last = window.rounds[-1].evidence if window.rounds else ()
    for block in ladder.blocks:
        members = [item for item in last if block.refuses(item.features)]
        if not members:
            if not block.is_lasting:  # a budget stays used up, whatever else is called
                ladder.leave(block)
            continue
        was_refused = any(item.features.outcome is Outcome.REFUSED for item in members)
        if was_refused and block.identity not in known:
            again.append(blocked(block, window))
    return again


def blocked(block: Block, window: Window) -> LoopDetection:
    """Return a loop that is blocked, as the window shows it now."""
    found = [item for item in window if block.refuses(item.features)]
    again = detection(
        block.detector,
        block.reason,
        found or list(window)[-1:],
        refused=block.refused,
    )
    return replace(
        again,
        identity=block.identity,
        is_lasting=block.is_lasting,
        severity=LoopSeverity.CRITICAL,
    )


def shown_by_refusals(ladder: Ladder, window: Window) -> List[int]:
    """Return the indices of the calls that a refusal may show: of each block, the last ones.

    Of calls of one round, any may be left when the round leaves the window in part.
    """
    return [item.index for block in ladder.blocks for item in _last_refused(block, window)]


def _last_refused(block: Block, window: Window) -> List[JudgedCall]:
    """Return the calls that a block refuses in the last round that holds any."""
    rounds = (
        [item for item in passed.evidence if block.refuses(item.features)]
        for passed in reversed(window.rounds)
    )
    return next(filter(None, rounds), [])
