"""The responses to a loop: actions, policies, and ladders of actions."""

from dataclasses import dataclass
from typing import Any, Callable, Mapping, Optional, Tuple, Union

from .._checks import check_flag, check_threshold, choice_of
from .._short_repr import Shown
from .._text_enum import TextEnum
from ..stability import stable
from ._detection import LoopSeverity


@stable
class LoopAction(TextEnum):
    """The action to take after a round."""

    CONTINUE = "continue"
    """Do nothing."""
    NOTIFY = "notify"
    """Send the model a notice, once."""
    BLOCK = "block"
    """Block every call of the loop from now on."""
    CONCLUDE = "conclude"
    """Withdraw the tools, ask the model once for its last words, and end the run with them. A host
    that cannot do so ends the run as for stop."""
    STOP = "stop"
    """End the run with a status and the result so far."""
    RAISE = "raise"
    """End the run with an exception."""

    @property
    def severity(self) -> LoopSeverity:
        """The severity of this action."""
        return _SEVERITY.get(self, LoopSeverity.CRITICAL)

    @property
    def ends_run(self) -> bool:
        """Whether the run is over after this action."""
        return self in (LoopAction.CONCLUDE, LoopAction.STOP, LoopAction.RAISE)

    @property
    def stops(self) -> bool:
        """Whether the run ends with a status, not with an exception: conclude and stop."""
        return self in (LoopAction.CONCLUDE, LoopAction.STOP)


RANK = {action: rank for rank, action in enumerate(LoopAction)}
"""The actions from mild to strong."""
_SEVERITY = {LoopAction.CONTINUE: LoopSeverity.OK, LoopAction.NOTIFY: LoopSeverity.WARNING}


@stable
@dataclass(frozen=True, repr=False)
class Escalation(Shown):
    """A ladder: the n-th detection of the same loop takes the n-th action.

    After the last action the ladder stays there. A notice is sent only once for each rung.

    Args:
        actions: from mild to strong, at least one; none may be milder than the one before.
        every: rounds between two detections of one loop, 1 or more. After an action that ends the
            run it counts whole laps.
        per_lap: whether ``every`` counts whole laps of a cycle from the beginning.
        resumes: whether a loop that the agent returns to keeps its position on the ladder. False:
            it starts at the first action.
        max_interventions: number of notices and blocks in one run, over all loops, after which the
            next detection stops the run; None for no limit.
        on_notice: a function, sync or async, that `Agent` calls with the verdict when it gives the
            model a notice. It may return a text, which the model gets as advice, or a provider,
            which answers the next request. Its exceptions are logged. After 30 seconds the run goes
            on without it.

    Raises:
        ValueError: for an empty or descending ladder, ``continue`` in it, or a number below 1.
        TypeError: for one action or a set instead of a list, a flag that is not True or False, or
            an ``on_notice`` that cannot be called.

    >>> Escalation(("notify", "stop")).actions
    (<LoopAction.NOTIFY: 'notify'>, <LoopAction.STOP: 'stop'>)
    """

    actions: Tuple[Union[LoopAction, str], ...] = (
        LoopAction.NOTIFY,
        LoopAction.BLOCK,
        LoopAction.STOP,
    )
    every: int = 1
    per_lap: bool = False
    resumes: bool = True
    max_interventions: Optional[int] = None
    on_notice: Optional[Callable[[Any], Any]] = None

    def __post_init__(self) -> None:
        if isinstance(self.actions, (set, frozenset)):
            raise TypeError(f"actions must be a list: a set has no order, got {self.actions!r}")
        actions = actions_of(self.actions)
        object.__setattr__(self, "actions", actions)
        ranks = [RANK[action] for action in actions]
        if ranks != sorted(ranks):
            names = ", ".join(action.value for action in actions)
            raise ValueError(f"actions must not become milder, got {names}")
        check_threshold("every", self.every, 1)
        check_flag("per_lap", self.per_lap)
        check_flag("resumes", self.resumes)
        if self.max_interventions is not None:
            check_threshold("max_interventions", self.max_interventions, 1)
        if self.on_notice is not None and not callable(self.on_notice):
            raise TypeError(f"on_notice must be a function or None, got {self.on_notice!r}")


def actions_of(given: Any) -> Tuple[LoopAction, ...]:
    """Return the actions in a list.

    Raises:
        TypeError: for anything but a list.
        ValueError: for an empty one, ``continue``, or a name of no action.
    """
    if isinstance(given, (str, LoopAction, Mapping)) or not hasattr(given, "__iter__"):
        raise TypeError(f"actions must be a list of actions, got {given!r}")
    choices = list(LoopAction)[1:]
    actions = tuple(choice_of(LoopAction, each, "action", choices=choices) for each in given)
    if not actions:
        raise ValueError("actions must name at least one action, got none")
    return actions


@stable
class LoopPolicy(TextEnum):
    """The usual reactions to a loop; each is a ladder of actions."""

    RAISE = "raise"
    """Raise `LoopDetectedError` at the first detection."""
    INJECT_MESSAGE = "inject_message"
    """Send the model a notice, once per loop, and go on."""
    BLOCK = "block"
    """Block the calls of the loop; stop the run if it goes on with the loop anyway."""
    STOP = "stop"
    """End the run at the first detection, with its partial result."""

    @property
    def escalation(self) -> Escalation:
        """The ladder that this policy stands for."""
        return _ESCALATIONS[self]


_ESCALATIONS = {
    LoopPolicy.RAISE: Escalation((LoopAction.RAISE,)),
    LoopPolicy.INJECT_MESSAGE: Escalation((LoopAction.NOTIFY,)),
    LoopPolicy.BLOCK: Escalation((LoopAction.BLOCK, LoopAction.STOP)),
    LoopPolicy.STOP: Escalation((LoopAction.STOP,)),
}
