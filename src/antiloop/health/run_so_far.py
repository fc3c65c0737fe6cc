"""What the rules know of a run while it goes on; all of it is bounded."""

import re
from collections import deque
from dataclasses import dataclass, field
from typing import Deque, NamedTuple, Optional, Tuple, TypeVar

from ..latest import Latest
from ..loop_detection.evidence.call_features import CallFeatures
from ..loop_detection.evidence.compared import Result
from ..loop_detection.text.canonical import canonical_arguments
from ..traces import RunEvent
from ..types import ToolCall
from .similarity import ComparedText, are_similar

REMEMBERED = 1_000
"""How many different things of a kind are remembered of a run; older ones are forgotten."""
COMPARED_INPUTS = 8
"""Different inputs of each tool that a new one is compared with: the latest."""

_NO_LETTER = re.compile(r"[\W_]+")
_HANDOFF = re.compile(r"(?:transfer|hand_?off)_to_(\w.*)", re.IGNORECASE | re.DOTALL)
_Value = TypeVar("_Value")


class Several(Tuple[_Value, ...]):
    """Names that something counts under at once."""


class SeenCall(NamedTuple):
    """A tool call as the rules look at it."""

    step: int
    """Its index in the run."""
    call: ToolCall
    """As the model asked for it."""
    result: Result
    """What came back; None where it is not known."""
    features: CallFeatures
    """As the detectors see it."""
    progress: int
    """How many events of progress came before it."""

    @property
    def tool(self) -> str:
        """Which tool."""
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
    """What happened up to now."""

    calls: int = 0
    """Tool calls."""
    events: int = 0
    """Other events."""
    progress: int = 0
    """Events that say that the run got on: its state was updated, its memory written."""
    news: int = 0
    """Rounds that brought something new."""
    cost: Optional[float] = None
    """What was spent, with the latest event; None while nothing is known."""
    cost_before: float = 0.0
    """What was spent before the latest event."""
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
