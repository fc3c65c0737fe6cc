"""The calls that a model knew at a compaction, and whether it has made a new one since.

At a compaction, earlier calls stop counting, so a loop with a compaction in each lap would never be
found. A further compaction therefore counts only if a new call or a new answer came since the last
one.
"""

from typing import FrozenSet, Optional

from .window import Window

_DIGITS = 8
"""Of the fingerprints of a call and of its result: a state file may hold fifty of both."""


def known_after(window: Window) -> Optional[FrozenSet[str]]:
    """Return what is known of a run after a compaction; None if it does not count."""
    made = frozenset(item.call[:_DIGITS] + (item.result or "")[:_DIGITS] for item in window)
    if made and made <= window.known:
        return None
    known = made | window.known
    return known if len(known) <= window.size else made
