"""The calls of one model reply."""

from typing import Dict, Hashable, List, Optional

from .effect import seems_to_finish
from .judged_call import JudgedCall
from .outcome import SUCCESS


class Round:
    """The calls of one model reply: each different call once, in the order of the reply."""

    __slots__ = ("_sorted", "calls", "evidence", "is_new", "number", "signature")

    signature: Hashable
    """Equal for rounds of the same calls in any order."""
    is_new: bool
    """Whether all its calls are new to the window, and succeeded with new answers; a call that
    finishes the run is never new."""
    _sorted: Optional[List[JudgedCall]]

    def __init__(self, number: Optional[int], calls: Dict[Hashable, JudgedCall]) -> None:
        self.number = number
        self.calls = calls
        """By their keys."""
        self.evidence = list(calls.values())
        """In the order of the reply."""
        if len(calls) == 1:
            [self.signature] = calls
            [item] = self._sorted = self.evidence
            self.is_new = _is_new(item)
            return
        self._sorted = None
        self.is_new = all(map(_is_new, self.evidence))
        self.signature = frozenset(calls)
        unseen = [item for item in self.evidence if item.features.result_key is None]
        if unseen and any(item.brings_news for item in self.evidence):
            for item in unseen:
                item.is_unseen = True

    @property
    def sorted_evidence(self) -> List[JudgedCall]:
        """The evidence by fingerprints, the same for any order of the reply."""
        if self._sorted is None:
            self._sorted = sorted_by_fingerprint(self.evidence)
        return self._sorted

    @property
    def fingerprints(self) -> str:
        """The fingerprints of the calls, as one text."""
        return " ".join(map(fingerprint_of, self.sorted_evidence))

    def brings_news(self, beside: Hashable) -> bool:
        """Whether another call than one brought something new."""
        return any(item.brings_news for key, item in self.calls.items() if key != beside)


def sorted_by_fingerprint(calls: List[JudgedCall]) -> List[JudgedCall]:
    """Sort calls by their fingerprints.

    What takes the first that fits takes the same in any order of the reply.
    """
    return sorted(calls, key=fingerprint_of) if len(calls) > 1 else calls


def fingerprint_of(item: JudgedCall) -> str:
    """Return the fingerprint of a call."""
    return item.features.call


def _is_new(item: JudgedCall) -> bool:
    if not (item.is_fresh and item.is_new and item.features.outcome is SUCCESS):
        return False
    return not seems_to_finish(item.features.tool)
