"""The calls of one model reply."""

from typing import Dict, Hashable, List, Optional

from .effect import seems_to_finish
from .judged_call import JudgedCall
from .outcome import SUCCESS


class Round:
    """The calls of one model reply: each different call once, in the order of the reply."""

    __slots__ = ("_siblings", "calls", "evidence", "is_new", "number", "signature")

    def __init__(self, number: Optional[int], calls: Dict[Hashable, JudgedCall]) -> None:
        self.number = number
        self.calls = calls
        """By their keys."""
        self.evidence = list(calls.values())
        self._siblings: Optional[List[JudgedCall]]
        self.signature: Hashable
        """Equal for rounds of the same calls in any order."""
        if len(calls) == 1:
            [self.signature] = calls
            [item] = self._siblings = self.evidence
            self.is_new = _is_new(item)
            return
        self._siblings = None
        self.is_new = all(map(_is_new, self.evidence))
        """Whether all its calls are new to the window, and succeeded with new answers; a call that
        finishes the run is never new."""
        self.signature = frozenset(calls)
        unseen = [item for item in self.evidence if item.features.said is None]
        if unseen and any(item.brings_news for item in self.evidence):
            for item in unseen:
                item.is_unseen = True

    @property
    def siblings(self) -> List[JudgedCall]:
        """The calls in the order of their fingerprints."""
        if self._siblings is None:
            self._siblings = in_order(self.evidence)
        return self._siblings

    @property
    def name(self) -> str:
        """The fingerprints of the calls."""
        return " ".join(map(_fingerprint, self.siblings))

    def brings_news(self, beside: Hashable) -> bool:
        """Whether another call than one brought something new."""
        return any(item.brings_news for call, item in self.calls.items() if call != beside)


def in_order(calls: List[JudgedCall]) -> List[JudgedCall]:
    """Sort calls by their fingerprints.

    What takes the first that fits takes the same in any order of the reply.
    """
    return sorted(calls, key=_fingerprint) if len(calls) > 1 else calls


def _fingerprint(item: JudgedCall) -> str:
    return item.features.call


def _is_new(item: JudgedCall) -> bool:
    if not (item.is_fresh and item.is_new and item.features.outcome is SUCCESS):
        return False
    return not seems_to_finish(item.features.tool)
