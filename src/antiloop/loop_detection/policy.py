"""What is done about a loop: actions, policies, and the ladder that they stand on."""

from dataclasses import dataclass
from enum import Enum
from typing import Optional, Tuple, Union

from ..choices import choice_of
from ..stability import beta
from ..threshold import check_threshold
from .detection import LoopSeverity


@beta
class LoopAction(str, Enum):
    """One thing that can be done after a round."""

    CONTINUE = "continue"
    """Nothing."""
    NOTIFY = "notify"
    """Tell the model, once."""
    BLOCK = "block"
    """Refuse every call of the loop from now on."""
    STOP = "stop"
    """End the run with a status and what it has achieved."""
    RAISE = "raise"
    """End the run with an exception."""

    @property
    def severity(self) -> LoopSeverity:
        """How serious this action is."""
        return _SEVERITY.get(self, LoopSeverity.CRITICAL)

    @property
    def ends_run(self) -> bool:
        """Whether the run is over after this action."""
        return self in (LoopAction.STOP, LoopAction.RAISE)


RANK = {action: rank for rank, action in enumerate(LoopAction)}
"""The actions from mild to strong."""
_SEVERITY = {LoopAction.CONTINUE: LoopSeverity.OK, LoopAction.NOTIFY: LoopSeverity.WARNING}


@beta
@dataclass(frozen=True)
class Escalation:
    """A ladder: the n-th detection of the same loop takes the n-th action.

    After the last action the ladder stays there; a notice is sent once per rung, though, never
    again for the same rung.

    Args:
        actions: from mild to strong, at least one; none may be milder than the one before.
        every: how many further rounds of a loop make a further detection, 1 or more; whole laps of
            a cycle once the run should have ended.
        per_lap: count ``every`` in whole laps of a cycle from the beginning.
        resumes: a loop that the agent comes back to goes on where it stood. False: it starts anew.
        max_interventions: after this many notices and blocks in one run, whatever the loop, the
            next detection stops the run; None for no such budget.

    Raises:
        ValueError: for an empty or descending ladder, ``continue`` in it, or a number below 1.
        TypeError: for one action instead of a list.

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

    def __post_init__(self) -> None:
        if isinstance(self.actions, (str, LoopAction)):
            raise TypeError(f"actions must be a list of actions, got {self.actions!r}")
        actions = tuple(_action(action) for action in self.actions)
        object.__setattr__(self, "actions", actions)
        ranks = [RANK[action] for action in actions]
        if not actions:
            raise ValueError("actions must name at least one action, got none")
        if ranks != sorted(ranks):
            names = ", ".join(action.value for action in actions)
            raise ValueError(f"actions must not become milder, got {names}")
        check_threshold("every", self.every, 1)
        if self.max_interventions is not None:
            check_threshold("max_interventions", self.max_interventions, 1)


def _action(value: Union[LoopAction, str]) -> LoopAction:
    try:
        action = choice_of(LoopAction, value, "action")
    except ValueError:
        action = LoopAction.CONTINUE
    if action is LoopAction.CONTINUE:
        choices = ", ".join(rung.value for rung in list(LoopAction)[1:])
        raise ValueError(f"unknown action {value!r}; choose from {choices}")
    return action


@beta
class LoopPolicy(Enum):
    """The usual answers to a loop, each a ladder of its own."""

    RAISE = "raise"
    """Raise `LoopDetectedError` at the first detection."""
    INJECT_MESSAGE = "inject_message"
    """Tell the model, once per loop, and go on."""
    BLOCK = "block"
    """Refuse the calls of the loop; a run that goes on with it all the same is stopped."""
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
