"""Count what the loops of a run took: calls, tokens and money."""

from typing import Optional, Sequence

from ._latest import Latest


def wasted_steps(steps: Sequence[int], wasted: int) -> Sequence[int]:
    """Return the wasted ones of the calls of a loop in the window: the last ones.

    Args:
        steps: the calls, oldest first.
        wasted: the wasted calls of the whole loop, which may be more than the window holds.
    """
    return steps[max(0, len(steps) - wasted) :]


class Waste:
    """Adds up what calls in loops took, and the replies that asked for them.

    Args:
        remembered: for how many calls back a loop may still be found.
    """

    def __init__(self, remembered: int) -> None:
        self.calls = 0
        """Calls that brought nothing new."""
        self._tokens = _Sum(remembered)
        self._cost = _Sum(remembered)
        self._wasted: Latest[int, None] = Latest(remembered)
        self._forgotten = -1

    @property
    def tokens(self) -> Optional[int]:
        """Tokens; None where the run tells none."""
        wasted = self._tokens.wasted
        return None if wasted is None else int(wasted)

    @property
    def cost(self) -> Optional[float]:
        """Money; None where nothing is known of it."""
        return self._cost.wasted

    def add(self, step: int, tokens: Optional[int], cost: Optional[float]) -> None:
        """Take in what a call took, or the reply that asked for it."""
        is_wasted = step in self._wasted
        self._tokens.add(step, tokens, is_wasted)
        self._cost.add(step, cost, is_wasted)

    def mark(self, steps: Sequence[int], wasted: int) -> None:
        """Note the wasted calls of a loop, as `wasted_steps` says; some may be noted already."""
        for step in wasted_steps(steps, wasted):
            # What is forgotten was counted: a window longer than this memory shows it again.
            if step > self._forgotten and step not in self._wasted:
                if self._wasted.is_full:
                    self._forgotten = max(self._forgotten, next(iter(self._wasted)))
                self._wasted[step] = None
                self.calls += 1
                self._tokens.waste(step)
                self._cost.waste(step)


class _Sum:
    """Amounts by step, and the sum of those that were wasted."""

    def __init__(self, remembered: int) -> None:
        self.wasted: Optional[float] = None
        self._waiting: Latest[int, float] = Latest(remembered)

    def add(self, step: int, amount: Optional[float], is_wasted: bool) -> None:
        if amount is None:
            return
        self.wasted = (self.wasted or 0) + (amount if is_wasted else 0)
        if not is_wasted:
            self._waiting[step] = self._waiting.get(step, 0) + amount

    def waste(self, step: int) -> None:
        amount = self._waiting.pop(step, None)
        if amount is not None:
            self.wasted = (self.wasted or 0) + amount
