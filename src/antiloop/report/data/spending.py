"""What single calls of a run took, in tokens and money."""

from typing import Dict, Iterable, NamedTuple, Optional

from ...formats.amounts import number
from ...loop_detection.text.canonical import canonical_json, parsed_arguments, text_of
from ...traces import RecordedRun
from ...traces.shared.totals import total

CHARACTERS_PER_TOKEN = 4
"""Characters per token for recordings without tokens: the usual figure for English."""


class Spent(NamedTuple):
    """What some calls took, with the replies that asked for them."""

    tokens: int
    is_estimate: bool
    """Whether the tokens are estimated from the length of the calls and results."""
    cost: Optional[float]
    """In the recorder's currency; None where no event says what it cost."""


class Spending:
    """Tokens and money of a run, by step.

    Args:
        run: the run; its events say what was spent.
    """

    def __init__(self, run: RecordedRun) -> None:
        self._run = run
        self._tokens: Dict[int, int] = {}
        self._costs: Dict[int, float] = {}
        for event in run.events:
            tokens = event.tokens
            if tokens is None:
                tokens = total([event.input_tokens, event.output_tokens])
            if tokens is not None:
                self._tokens[event.step] = self._tokens.get(event.step, 0) + tokens
            cost = number(event.cost)
            if cost is not None:
                self._costs[event.step] = self._costs.get(event.step, 0) + cost

    def on(self, steps: Iterable[int]) -> Spent:
        """Add up what these steps took."""
        steps = list(steps)
        cost = total(self._costs.get(step) for step in steps)
        if self._tokens:
            return Spent(sum(self._tokens.get(step, 0) for step in steps), False, cost)
        characters = sum(map(self._characters, steps))
        return Spent(-(-characters // CHARACTERS_PER_TOKEN), True, cost)

    def _characters(self, step: int) -> int:
        if step >= len(self._run):
            return 0
        result = self._run.results[step]
        arguments = canonical_json(parsed_arguments(self._run.calls[step].arguments))
        return len(arguments) + (0 if result is None else len(text_of(result.text)))
