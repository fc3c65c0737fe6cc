"""The calls of one model reply."""

from typing import Dict, Optional

from .judged_call import JudgedCall
from .outcome import SUCCESS


class Round:
    """The calls of one model reply: each different call once, in the order of the reply."""

    __slots__ = ("calls", "evidence", "is_new", "number", "siblings", "signature")

    def __init__(self, number: Optional[int], calls: Dict[str, JudgedCall]) -> None:
        self.number = number
        self.calls = calls
        """By the fingerprint of the call."""
        self.evidence = self.siblings = list(calls.values())
        if len(calls) == 1:
            [self.signature] = calls
            self.is_new = _is_new(self.evidence[0])
            return
        self.is_new = all(map(_is_new, self.evidence))
        """Whether all its calls are new to the window, and succeeded with new answers."""
        in_order = sorted(calls)
        self.siblings = [calls[call] for call in in_order]
        """The same by their fingerprints: what takes the first that fits takes the same in any
        order of the reply."""
        self.signature = " ".join(in_order)
        """Equal for rounds of the same calls in any order."""
        unseen = [item for item in self.evidence if item.features.result is None]
        if unseen and any(item.brings_news for item in self.evidence):
            for item in unseen:
                item.is_unseen = True

    def brings_news(self, beside: str) -> bool:
        """Whether another call than one brought something new."""
        return any(item.brings_news for call, item in self.calls.items() if call != beside)


def _is_new(item: JudgedCall) -> bool:
    return item.is_fresh and item.is_new and item.features.outcome is SUCCESS
