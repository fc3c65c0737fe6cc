"""The loops of a run whose calls are refused.

A block begins with a finding. It ends when a round holds none of its calls, because the agent has
then left the loop; only the block of a budget stays. A refused call keeps the block up, and counts
as a further repetition even if no detector finds one: some leave out what was refused, and a model
that repeats a refused call for ever would otherwise never reach the next rung.
"""

from dataclasses import dataclass, replace
from typing import Any, List, Optional, Sequence, Tuple

from .._text.shortening import shortened
from ..types import ToolCall
from ._detection import LoopDetection, LoopSeverity
from ._detectors.base import detection
from ._evidence.call_features import CallFeatures
from ._evidence.outcome import REFUSED
from ._evidence.refusal import is_refused
from ._evidence.round import JudgedCall
from ._evidence.window import Window
from ._messages import refusal
from ._policy import LoopAction
from ._verdict import GO_ON, LoopVerdict

# A snapshot must stay small, and it holds every block.
MAX_BLOCKS = 8
"""The number of loops that are blocked at once."""
MAX_REFUSED = 16
"""The number of different calls of one loop that are blocked: the last ones."""
MAX_REASON = 300
"""The number of characters of a finding that are kept."""


@dataclass(frozen=True)
class Block:
    """A loop whose calls are blocked."""

    identity: str
    """Identity of the loop."""
    detector: str
    """The detector that found it."""
    refused: Tuple[str, ...]
    """The calls that are blocked; see `LoopDetection.refused`."""
    is_lasting: bool
    """Whether the block stays when the agent does something else."""
    reason: str
    """The finding in one sentence."""

    def refuses(self, features: CallFeatures) -> bool:
        """Whether this call is refused."""
        return is_refused(features, self.refused)

    def finding(self, window: Window, refused: JudgedCall) -> LoopDetection:
        """Return the blocked loop as the window shows it now."""
        found = [item for item in window if self.refuses(item.features)]
        # The window may hold none of them any more, and nothing at all after a compaction.
        shown = found or list(window)[-1:] or [refused]
        again = detection(self.detector, self.reason, shown, refused=self.refused)
        return replace(
            again,
            identity=self.identity,
            is_lasting=self.is_lasting,
            is_refusal=True,
            severity=LoopSeverity.CRITICAL,
        )


class Blocks:
    """The blocked loops of one run by identity, at most `MAX_BLOCKS`; the oldest makes room."""

    def __init__(self) -> None:
        self._kept: Tuple[Block, ...] = ()

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, found: LoopDetection) -> None:
        """Block a loop; if it has no keys to refuse, its members are refused."""
        refused = (found.refused or found.members)[-MAX_REFUSED:]
        reason = shortened(found.message, MAX_REASON)
        block = Block(found.identity, found.detector_name, refused, found.is_lasting, reason)
        others = (each for each in self._kept if each.identity != block.identity)
        self._kept = (*others, block)[-MAX_BLOCKS:]

    def clear(self) -> None:
        """End all blocks."""
        self._kept = ()

    def end_passing(self) -> None:
        """End the blocks that another call would end; a budget stays used up."""
        self._kept = tuple(block for block in self._kept if block.is_lasting)

    def refusing(self, features: CallFeatures) -> Optional[Block]:
        """Return the block that refuses this call; None if it may run."""
        return next((block for block in self._kept if block.refuses(features)), None)

    def before(self, call: ToolCall, window: Window) -> LoopVerdict:
        """Return whether a call may run, as `LoopMonitor.before` does."""
        if not self:
            return GO_ON
        # The result is not known yet, and no key of a block needs it.
        features = window.features(call, None)
        block = self.refusing(features)
        if block is None:
            return GO_ON
        found = block.finding(window, JudgedCall(window.call_count, features))
        words = refusal(found, features.tool, features.shown.label)
        return LoopVerdict(LoopAction.BLOCK, found, words, suspicion=1.0)

    def refused_again(self, window: Window, found: Sequence[LoopDetection]) -> List[LoopDetection]:
        """Return the blocked loops with a call refused again, and end the blocks that were left.

        Args:
            window: the window that ends with the last round.
            found: the findings of the detectors in this round.
        """
        again, kept = [], []
        known = {each.identity for each in found}
        last = window.rounds[-1].evidence if window.rounds else ()
        for block in self._kept:
            members = [item for item in last if block.refuses(item.features)]
            if members or block.is_lasting:  # a budget stays used up, whatever else is called
                kept.append(block)
            if not members:
                continue
            # A host may run a blocked call all the same; what detectors make of that is their
            # matter.
            was_refused = any(item.outcome is REFUSED for item in members)
            if was_refused and block.identity not in known:
                again.append(block.finding(window, members[-1]))
        self._kept = tuple(kept)
        return again

    def shown(self, window: Window) -> List[int]:
        """Return the indices of the calls that a refusal may show: of each block, the last ones.

        When a round leaves the window in part, any of its calls may be left.
        """
        indices: List[int] = []
        for block in self._kept:
            rounds = (
                [item.index for item in passed.evidence if block.refuses(item.features)]
                for passed in reversed(window.rounds)
            )
            indices += next(filter(None, rounds), [])
        return indices

    def to_list(self) -> List[Any]:
        """Return the state as plain JSON."""
        return [
            [each.identity, each.detector, list(each.refused), each.is_lasting, each.reason]
            for each in self._kept
        ]

    def load(self, state: Sequence[Any]) -> None:
        """Load a state from `to_list`."""
        self._kept = tuple(
            Block(str(identity), str(detector), tuple(map(str, keys)), bool(lasts), str(reason))
            for identity, detector, keys, lasts, reason in state[-MAX_BLOCKS:]
        )
