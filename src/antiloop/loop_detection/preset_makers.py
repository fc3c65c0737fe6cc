"""How each preset is made, for `LoopDetector` and for settings that change a preset."""

from typing import Any, Callable, Dict, TypeVar

from ..types import Role
from .detectors.call_limit import CallLimitDetector
from .detectors.chant import ChantDetector
from .detectors.failure_streak import FailureStreakDetector
from .detectors.monologue import MonologueDetector
from .detectors.near_repeat import NearRepeatDetector
from .detectors.no_effect import NoEffectDetector
from .detectors.persistent_failure import PersistentFailureDetector
from .detectors.ping_pong import PingPongDetector
from .detectors.recurrence import RecurrenceDetector
from .detectors.repeat import RepeatDetector
from .detectors.repeated_finish import RepeatedFinishDetector
from .detectors.stall import StallDetector
from .detectors.unknown_tool import UnknownToolDetector
from .evidence.tool_policy import ToolPolicy
from .policy import Escalation, LoopAction, LoopPolicy
from .threshold import check_threshold

T = TypeVar("T")
Make = Callable[..., T]
"""`LoopDetector`, or another callable that takes its arguments."""
NOTIFY, BLOCK, STOP = LoopAction.NOTIFY, LoopAction.BLOCK, LoopAction.STOP


def default(make: Make[T], **options: Any) -> T:
    """Make repeat, stall and ping-pong."""
    return make(
        [
            RepeatDetector(3, require_same_result=True, patience=6),
            StallDetector(3, only_fruitless=True, varied=5),
            PingPongDetector(12, 3, patience=6),
        ],
        **options,
    )


def escalating(make: Make[T], **options: Any) -> T:
    """Make most detectors, and the whole ladder."""
    return make(
        [
            RepeatDetector(3, require_same_result=True, patience=6),
            UnknownToolDetector(3),
            NoEffectDetector(3),
            PingPongDetector(12, 3, patience=6),
            NearRepeatDetector(4, patience=6),
            FailureStreakDetector(4, in_a_row=5, repeats=3),
            RecurrenceDetector(3, patience=6, leave_cycles=True),
            PersistentFailureDetector(5),
            RepeatedFinishDetector(3),
            MonologueDetector(3),
            ChantDetector(6),
        ],
        Escalation(),
        **options,
    )


def literal(make: Make[T], **options: Any) -> T:
    """Make three bare detectors."""
    return make(
        [RepeatDetector(3), StallDetector(3), PingPongDetector(2, 3, match="tool_names")],
        LoopPolicy.RAISE,
        **options,
    )


def patient(make: Make[T], **options: Any) -> T:
    """Make detectors that warn late."""
    polled = ToolPolicy(poll=True)
    return make(
        [
            RepeatDetector(30, require_same_result=True, name="breaker"),
            PingPongDetector(2, 15, name="ping_pong_breaker"),
            RepeatDetector(20, require_same_result=True, name="no_progress"),
            RepeatDetector(10),
            PingPongDetector(2, 5),
        ],
        Escalation((BLOCK,)),
        escalations={
            "repeat": Escalation((NOTIFY,)),
            "ping_pong": Escalation((NOTIFY, BLOCK), every=10),
        },
        window=30,
        tools={
            "command_status": polled,
            "process": ToolPolicy(poll={"action": ["poll", "log"]}),
            "process.poll": polled,
            "process.log": polled,
        },
        log_verdicts=True,
        **options,
    )


def cycles(make: Make[T], laps: int = 3, **options: Any) -> T:
    """Make detectors of short cycles."""
    check_threshold("laps", laps)
    return make(
        [RepeatDetector(laps), PingPongDetector(3, laps, match="calls")],
        Escalation((NOTIFY, NOTIFY, STOP), per_lap=True),
        notice_role=Role.USER,
        **options,
    )


def budgeted(make: Make[T], **options: Any) -> T:
    """Make a budget, and detectors below it."""
    ladder = Escalation((NOTIFY, NOTIFY, BLOCK), resumes=False)
    return make(
        [
            CallLimitDetector(25, per_turn=True),
            RepeatDetector(3),
            PingPongDetector(2, 2, match="tool_names"),
        ],
        Escalation((BLOCK,)),
        escalations={"repeat": ladder, "ping_pong": ladder},
        mask="arguments",
        log_verdicts=True,
        **options,
    )


MAKERS: Dict[str, Callable[..., Any]] = {
    each.__name__: each for each in (default, escalating, literal, patient, cycles, budgeted)
}
"""The function that makes each preset, by name; our own presets come first."""
