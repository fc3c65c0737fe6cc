"""The rules, as a table: what counts as the same, how many of it are a warning, what to say.

A rule gives each call or event that it counts a key. It warns when as many as its threshold have
the same key.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from string import Formatter
from typing import Any, Callable, Hashable, Optional, Tuple

from .._checks import check_flag
from .._short_repr import Shown
from .._text.canonical import json_or
from ..loop_detection import Outcome
from ..loop_detection._internal import Result
from ..stability import beta
from ..traces import RunEvent
from ..types import ToolResult
from ._numbers import HealthNumbers, require_number
from ._run_so_far import RunSoFar, SeenCall

_LONGEST_WORDS = 200
"""Characters of an answer that says that there is nothing; a longer one says more than that."""
_DEEPEST = 100
"""Levels of fields within fields that are looked into; what lies deeper counts as something."""
_THINGS = (
    r"(?:data|documents?|results?|match(?:es)?|files?|entries|records?|rows?|items?|hits?|content"
    r"|information|answers?|output)"
)
_WORDS = re.compile(
    r"\W*(?:404\W{1,5})?(?:not found|nothing(?: was)? found"
    rf"|(?:there (?:is|are|was|were) )?(?:no|0|zero) (?:\w+ ){{0,2}}{_THINGS}"
    r"(?: (?:was|were|is|are))?(?: (?:available|found|returned|exists?))?)\W*$",
    re.IGNORECASE,
)


def is_empty_result(result: Result) -> bool:
    """Whether a result holds nothing; one that is not known is not empty.

    >>> is_empty_result('{"data": {"items": []}}'), is_empty_result("No data available")
    (True, True)
    >>> is_empty_result('{"found": 1, "items": []}')
    False
    """
    text = result.text if isinstance(result, ToolResult) else result
    if not isinstance(text, str):
        return False
    text = text.strip()
    return _says_nothing(text) or (
        text[:1] == "{" and text[-1:] == "}" and _holds_nothing(json_or(text, text))
    )


def _says_nothing(text: str) -> bool:
    return len(text) <= _LONGEST_WORDS and (not text or _WORDS.match(text) is not None)


def _holds_nothing(value: Any, levels: int = _DEEPEST) -> bool:
    """Whether each field of an object, at any depth, is empty, null, 0 or says that it is."""
    if isinstance(value, dict):
        return levels > 0 and all(_holds_nothing(field, levels - 1) for field in value.values())
    if isinstance(value, str):
        return _says_nothing(value.strip())
    if isinstance(value, bool):
        return False
    return value is None or value == [] or value == 0


CallKey = Callable[[SeenCall, RunSoFar, HealthNumbers], Optional[Hashable]]
EventKey = Callable[[RunEvent, RunSoFar, HealthNumbers], Optional[Hashable]]
_FIELD_END = re.compile(r"[.\[]")
_TOLD = ("count", "times", "item", "run", "rule", "profile")
_OWNERS = ("key", "tool", "rule")
PROGRESS = ("state_updated", "memory_write")
"""Events that say that a run got on."""


@beta
@dataclass(frozen=True, repr=False)
class HealthRule(Shown):
    """One rule: data that can be changed, and a key.

    Raises:
        ValueError: for a negative penalty, a threshold below 1, a window below the threshold, or
            a message with an unknown field.
        TypeError: if `can_end` is not True or False.
    """

    name: str
    """The name of its warning."""
    penalty: float
    """The points that its warning takes from the score."""
    threshold: int
    """This many of the same are a warning."""
    message: str
    """A sentence that says what happened: a format text over ``count``, ``times`` (the count in
    words, and whether only calls of loops are counted), ``item``, ``run``, ``rule`` and
    ``profile``."""
    why: str
    """The reason why it matters."""
    suggestion: str
    """A suggestion of what to try."""
    of_call: Optional[CallKey] = None
    """Under what name a call counts; None where it does not."""
    of_event: Optional[EventKey] = None
    """Under what name an event counts; None where it does not."""
    window: Optional[int] = None
    """This many of the latest tool calls are looked at; all of the run where None."""
    can_end: bool = True
    """Whether the warning is closed when the run gets on."""
    per: str = "key"
    """A separate warning is made for each ``key``, each ``tool``, or the whole ``rule``."""

    def __post_init__(self) -> None:
        require_number(self, "penalty", 0)
        require_number(self, "threshold", 1, whole=True)
        if self.window is not None:
            require_number(self, "window", self.threshold, whole=True)
        check_flag("can_end", self.can_end)
        if self.per not in _OWNERS:
            raise ValueError(f"per must be one of {', '.join(_OWNERS)}, got {self.per!r}")
        for _, name, _, _ in Formatter().parse(self.message):
            if name is not None and _FIELD_END.split(name)[0] not in _TOLD:
                raise ValueError(
                    f"the message of {self.name!r} asks for {name!r}; there are {', '.join(_TOLD)}"
                )

    @property
    def is_finding(self) -> bool:
        """Whether it counts nothing itself, but stands for what a detector found."""
        return self.of_call is None and self.of_event is None


def _tool(seen: SeenCall, *_: object) -> Hashable:
    return seen.tool


def _similar_input(seen: SeenCall, run: RunSoFar, profile: HealthNumbers) -> Hashable:
    return run.similar_inputs(seen, profile.similarity)


def _exact_input(seen: SeenCall, *_: object) -> Hashable:
    return seen.features.call


def _tool_since_progress(seen: SeenCall, *_: object) -> Hashable:
    return seen.tool, seen.progress


def _tool_without_result(seen: SeenCall, *_: object) -> Optional[Hashable]:
    is_silent = seen.features.outcome in (Outcome.EMPTY, Outcome.SILENT)
    return seen.tool if is_silent or is_empty_result(seen.result) else None


def _retry(event: RunEvent, run: RunSoFar, *_: object) -> Optional[Hashable]:
    return run.news if event.type == "retry_triggered" else None


def _long_step(event: RunEvent, run: RunSoFar, profile: HealthNumbers) -> Optional[Hashable]:
    if (event.latency_s or 0) <= profile.long_step_s:
        return None
    # A test suite takes its time; so does a model that thinks. What matters is the outcome.
    if profile.needs_evidence and (not is_of_call(event) or event.step in run.new_steps):
        return None
    return run.events


def _cost_spike(event: RunEvent, run: RunSoFar, profile: HealthNumbers) -> Optional[Hashable]:
    cost, total = event.cost or 0.0, run.cost or 0.0
    is_spike = cost > profile.spike_floor and cost > profile.spike_share * total
    return run.events if is_spike and run.priced > profile.spike_after else None


def _over_budget(_: RunEvent, run: RunSoFar, profile: HealthNumbers) -> Optional[Hashable]:
    budget = profile.cost_budget
    if budget is None or run.cost is None:
        return None
    return "budget" if run.cost_before <= budget < run.cost else None


def _bounce(event: RunEvent, run: RunSoFar, *_: object) -> Optional[Hashable]:
    if event.type != "handoff_started" or not run.has_handed_over or len(run.control) < 4:
        return None
    first, second, third, fourth = run.control
    return frozenset((first, second)) if (first, second) == (third, fourth) else None


def is_of_call(event: RunEvent) -> bool:
    """Whether an event tells more of one of the run's tool calls."""
    return event.type in ("tool_call_completed", "tool_call_failed")


def step_of(event: RunEvent) -> int:
    """Return the step of the call that an event is about: its own, the next, or the one before."""
    has_own = is_of_call(event) or event.type.startswith("llm_call")
    return max(0, event.step - (not has_own))


@lru_cache(maxsize=64, typed=True)
def loop_rule(detector: str, penalty: float) -> HealthRule:
    """Return the rule that stands for what a detector finds."""
    return HealthRule(
        f"loop_{detector}",
        penalty=penalty,
        threshold=1,
        message="",
        why="What comes back is known already, so each further call is spent for nothing.",
        suggestion="Guard the agent with LoopDetector.escalating(): it tells the model, then "
        "refuses the calls, then ends the run.",
    )


RULES: Tuple[HealthRule, ...] = (
    HealthRule(
        "repeated_tool_call",
        penalty=15,
        threshold=3,
        window=8,
        of_call=_tool,
        message="Tool {item.tool!r} was called {times} within {rule.window} tool calls.",
        why="An agent that keeps to one tool may not know what else to do.",
        suggestion="Look at what the tool gave, and tell the agent what to do with it.",
    ),
    HealthRule(
        "repeated_tool_call_similar_input",
        penalty=20,
        threshold=3,
        of_call=_similar_input,
        per="tool",
        message="Tool {item.tool!r} was called {times} with nearly the same input.",
        why="Small changes of the input mostly bring the same answer again.",
        suggestion="Say in the tool's description which inputs make a difference, "
        "or let its answer say what to change.",
    ),
    HealthRule(
        "repeated_tool_call_exact_input",
        penalty=25,
        threshold=3,
        of_call=_exact_input,
        message="Tool {item.tool!r} was called {times} with the same input: "
        "{item.features.shown.label}.",
        why="The same question mostly gets the same answer; each time costs tokens and time.",
        suggestion="Keep the answer where the agent sees it, or refuse the call with "
        "LoopDetector.escalating().",
    ),
    HealthRule(
        "no_progress",
        penalty=30,
        threshold=3,
        of_call=_tool_since_progress,
        per="tool",
        message="Tool {item.tool!r} was called {times}, and neither state nor memory "
        "was changed in between.",
        why="Nothing was made of the answers, so the next call starts where the last one did.",
        suggestion="Let the agent write down what it has learnt before it calls again, "
        "or end the run and ask for help.",
    ),
    HealthRule(
        "empty_result_loop",
        penalty=20,
        threshold=3,
        of_call=_tool_without_result,
        message="Tool {item.tool!r} gave nothing {times}.",
        why="The agent looks for what is not there, or asks for it in the wrong words.",
        suggestion="Let the tool say what it searched and what it could find instead; "
        "tell the agent when to give up.",
    ),
    HealthRule(
        "retry_storm",
        penalty=20,
        threshold=3,
        of_event=_retry,
        per="rule",
        message="{count:,} retries were triggered.",
        why="What fails several times in a row is seldom transient; retries hide the cause.",
        suggestion="Wait longer between retries, cap them, and give the agent the error.",
    ),
    HealthRule(
        "long_running_step",
        penalty=10,
        threshold=1,
        of_event=_long_step,
        per="rule",
        message="A step took {item.latency_s:g} s; the limit is {profile.long_step_s:g} s.",
        why="A step that hangs holds up the whole run.",
        suggestion="Give the tool a timeout, or let it start the work and be polled.",
    ),
    HealthRule(
        "cost_spike",
        penalty=15,
        threshold=1,
        of_event=_cost_spike,
        per="rule",
        can_end=False,
        message="One event cost {item.cost:.2f} of the {run.cost:.2f} of the run so far.",
        why="One step that costs as much as all others shows a prompt or an answer out of hand.",
        suggestion="Look at what was sent: shorten long results before they are kept.",
    ),
    HealthRule(
        "cost_budget_exceeded",
        penalty=15,
        threshold=1,
        of_event=_over_budget,
        can_end=False,
        message="The run had cost {run.cost:.2f}; its budget is {profile.cost_budget:.2f}.",
        why="The run costs more than it was said to be worth.",
        suggestion="End runs at their budget, or use a smaller model for the easy steps.",
    ),
    HealthRule(
        "handoff_bounce",
        penalty=20,
        threshold=1,
        of_event=_bounce,
        message="Control went {run.control[0]!r}, {run.control[1]!r}, {run.control[2]!r}, "
        "{run.control[3]!r}.",
        why="Two agents that each leave the work to the other do none of it.",
        suggestion="Say which of them owns the task, and what each must have done before it "
        "hands over.",
    ),
)
"""The ten rules of the reference."""
