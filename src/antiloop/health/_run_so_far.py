"""Hold what the rules know of a run while it goes on; all of it is bounded."""

import re
from collections import deque
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Deque, Dict, NamedTuple, Optional, Tuple, TypeVar

from .._latest import Latest
from .._text.canonical import canonical_arguments
from .._text.shortening import shortened
from ..loop_detection import Window
from ..loop_detection._internal import CallFeatures, Result
from ..traces import RunEvent
from ..types import ToolCall

COMPARED_LENGTH = 256
"""Characters of a text that are compared: half from its start, half from its end."""


class ComparedText(NamedTuple):
    """The part of a text that is compared."""

    length: int
    text: str
    """The text, shortened."""

    @classmethod
    def of(cls, text: str) -> "ComparedText":
        """Shorten a text to what is compared."""
        return cls(len(text), shortened(text, COMPARED_LENGTH))


@lru_cache(maxsize=1024)  # a stuck run compares the same inputs again and again
def are_similar(one: ComparedText, other: ComparedText, least: float) -> bool:
    """Whether two texts share at least this part of their characters, from 0 to 1."""
    if 2 * min(one.length, other.length) < least * (one.length + other.length):
        return False
    return 2 * common_length(one.text, other.text) >= least * (len(one.text) + len(other.text))


def common_length(one: str, other: str) -> int:
    """Return the length of the longest common subsequence.

    The bits of one number are a row in the usual table (Hyyrö, 2004: Bit-parallel
    LCS-length computation revisited).

    >>> common_length("abcde", "xaybzd")
    3
    """
    places: Dict[str, int] = {}
    for place, letter in enumerate(one):
        places[letter] = places.get(letter, 0) | 1 << place
    row = every = (1 << len(one)) - 1
    for letter in other:
        hits = row & places.get(letter, 0)
        row = ((row + hits) | (row - hits)) & every
    return len(one) - bin(row).count("1")


REMEMBERED = 1_000
"""This many different things of a kind are remembered of a run; older ones are forgotten."""
COMPARED_INPUTS = 8
"""Different inputs of each tool that a new one is compared with: the latest."""

_NO_LETTER = re.compile(r"[\W_]+")
_HANDOFF = re.compile(r"(?:transfer|hand_?off)_to_(\w.*)", re.IGNORECASE | re.DOTALL)
_Value = TypeVar("_Value")


class Several(Tuple[_Value, ...]):
    """Names that something counts under at once."""


class SeenCall:
    """A tool call as the rules look at it.

    Its features are made when a rule asks for them: most calls of a healthy run are never part of
    a finding, and no rule looks at them.
    """

    def __init__(
        self, step: int, call: ToolCall, result: Result, window: Window, progress: int
    ) -> None:
        self.step = step
        """Its index in the run."""
        self.call = call
        """As the model asked for it."""
        self.result = result
        """The result; None where it is not known."""
        self.progress = progress
        """The number of events of progress that came before it."""
        self._window = window
        self._features: Optional[CallFeatures] = None

    @property
    def features(self) -> CallFeatures:
        """The call and its result as the detectors see them."""
        if self._features is None:
            self._features = self._window.features(self.call, self.result)
        return self._features

    @property
    def tool(self) -> str:
        return self.features.tool


def handed_to(tool: str) -> Optional[str]:
    """Return the agent that a tool hands over to, by its name; None for other tools.

    >>> handed_to("transfer_to_billing"), handed_to("handoff_to_billing"), handed_to("transfer")
    ('billing', 'billing', None)
    """
    match = _HANDOFF.fullmatch(tool)
    return match and match[1]


@dataclass
class RunSoFar:
    """Hold what happened up to now."""

    calls: int = 0
    events: int = 0
    progress: int = 0
    """Events that say that the run got on: its state was updated, its memory written."""
    news: int = 0
    """Rounds that brought something new."""
    cost: Optional[float] = None
    """The cost so far, with the latest event; None while nothing is known."""
    cost_before: float = 0.0
    """The cost before the latest event."""
    priced: int = 0
    """Events with a cost, with the latest."""
    control: "Deque[str]" = field(default_factory=lambda: deque(maxlen=4))
    """The agents that were last in control, the latest at the end."""
    has_handed_over: bool = False
    """Whether the latest event changed who is in control."""
    _reported_by_tool: bool = False
    _names: "Latest[str, str]" = field(default_factory=lambda: Latest(REMEMBERED))
    new_steps: "Latest[int, None]" = field(default_factory=lambda: Latest(REMEMBERED))
    """Recent calls that brought something new."""
    _inputs: "Latest[str, Latest[str, ComparedText]]" = field(
        default_factory=lambda: Latest(REMEMBERED)
    )

    def spend(self, cost: Optional[float]) -> None:
        """Add to the cost of the run; None adds nothing."""
        self.priced += cost is not None
        self.settle(None if cost is None else (self.cost or 0.0) + cost)

    def settle(self, cost: Optional[float]) -> None:
        """Note what the run has cost by now; None is as before."""
        self.cost_before = self.cost or 0.0
        if cost is not None:
            self.cost = round(cost, 12)  # three times 0.1 is 0.3, not a bit more

    def hand_over(self, event: RunEvent) -> None:
        """Note who is in control; a tool and a span may write one agent in two ways."""
        self.has_handed_over = False
        agents = [self._name(name) for name in (event.agent, event.to_agent) if name is not None]
        was_reported, self._reported_by_tool = self._reported_by_tool, event.tool is not None
        if was_reported and not self._reported_by_tool and agents[-1:] == list(self.control)[-1:]:
            return  # an event of the format's own, for what the call said already
        for agent in agents:
            if not self.control or agent != self.control[-1]:
                self.control.append(agent)
                self.has_handed_over = True

    def _name(self, name: str) -> str:
        """Return the name under which an agent was first reported."""
        key = _NO_LETTER.sub("_", name.casefold())
        self._names[key] = name = self._names.get(key, name)
        return name

    def similar_inputs(self, seen: SeenCall, least: float) -> Several[str]:
        """Return the fingerprints of the calls of this tool with similar input, and of this one.

        Inputs are compared as canonical JSON, at most `COMPARED_LENGTH` characters of them, with
        the `COMPARED_INPUTS` different ones of the tool that were seen, or were similar, last.
        """
        known = self._inputs.get(seen.tool) or Latest(COMPARED_INPUTS)
        self._inputs[seen.tool] = known
        text = canonical_arguments(seen.call.arguments)
        known[seen.features.call] = mine = ComparedText.of(text)
        alike = Several(key for key, each in known.items() if are_similar(each, mine, least))
        for key in alike:
            known.move_to_end(key)
        return alike
