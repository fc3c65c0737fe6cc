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
        self.is_new = True
        """Whether all its calls are new to the window, and succeeded with new answers."""
        for item in self.evidence:
            if not (item.is_new and item.is_fresh and item.features.outcome is SUCCESS):
                self.is_new = False
                break
        if len(calls) == 1:
            [self.signature] = calls
            return
        in_order = sorted(calls)
        self.siblings = [calls[call] for call in in_order]
        """The same by their fingerprints: what takes the first that fits takes the same in any
        order of the reply."""
        self.signature = " ".join(in_order)
        """Equal for rounds of the same calls in any order."""
        if any(item.is_fresh for item in self.evidence):
            for item in self.evidence:
                item.is_unseen = item.features.result is None

    def brings_news(self, earlier: "Round", beside: str) -> bool:
        """Whether another call than one succeeded with an answer that the earlier round has not."""
        known = {item.features.answer for item in earlier.evidence}
        return any(
            item.features.outcome is SUCCESS and item.features.answer not in known
            for call, item in self.calls.items()
            if call != beside
        )
