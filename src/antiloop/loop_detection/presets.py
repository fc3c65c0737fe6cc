"""Detectors that reproduce published designs, for comparison and for those who miss them.

`LoopDetector.default` and `LoopDetector.escalating` are what we recommend; the figures of all of
them stand side by side in the reference.
"""

from typing import Callable, Dict

from ..stability import beta
from ..types import Role
from .call_limit import CallLimitDetector
from .detector import LoopDetector
from .ping_pong import PingPongDetector
from .policy import Escalation, LoopAction, LoopPolicy
from .repeat import RepeatDetector
from .stall import StallDetector
from .tool_policy import ToolPolicy

NOTIFY, BLOCK, STOP = LoopAction.NOTIFY, LoopAction.BLOCK, LoopAction.STOP


@beta
def literal() -> LoopDetector:
    """Repeat 3, stall 3, ping-pong 2x3 on tool names, raise: each exactly as the bare class."""
    return LoopDetector(
        [RepeatDetector(3), StallDetector(3), PingPongDetector(2, 3, match="tool_names")],
        LoopPolicy.RAISE,
    )


@beta
def patient() -> LoopDetector:
    """Warn late and refuse later: 10, 20, 30 within the last 30 calls, as OpenClaw does.

    A repeated call is a warning at 10. The same call with the same result, which is no progress, is
    refused at 20; at 30 outcomes without progress a breaker refuses, whichever loop it is. Two
    calls in turn are a warning at 10 and refused at 20, as long as their results stay. Polls are
    judged by their results alone: `command_status`, and `process` with the action poll or log.
    """
    return LoopDetector(
        [
            RepeatDetector(10),
            RepeatDetector(20, require_same_result=True, name="no_progress"),
            RepeatDetector(30, require_same_result=True, name="breaker"),
            PingPongDetector(2, 5),
            PingPongDetector(2, 15, name="ping_pong_breaker"),
        ],
        Escalation((BLOCK,)),
        escalations={
            "repeat": Escalation((NOTIFY,)),
            "ping_pong": Escalation((NOTIFY, BLOCK), every=5),
        },
        window=30,
        tools={
            "command_status": ToolPolicy(poll=True),
            "process": ToolPolicy(poll={"action": ["poll", "log"]}),
        },
    )


@beta
def cycles() -> LoopDetector:
    """Find cycles of one, two and three calls: warn as the user, warn again, stop.

    Calls are compared by tool and arguments; a cycle counts when it is repeated as a whole, three
    times without a gap.
    """
    return LoopDetector(
        [RepeatDetector(3), PingPongDetector(3, 3, match="calls")],
        Escalation((NOTIFY, NOTIFY, STOP)),
        notice_role=Role.USER,
    )


@beta
def budgeted() -> LoopDetector:
    """Warn at 3 and refuse at 5 equal calls, at 4 and 6 alternating ones; 25 calls a turn.

    No arguments stand in what it says, nor in snapshots.
    """
    return LoopDetector(
        [
            RepeatDetector(3),
            PingPongDetector(2, 2, match="tool_names"),
            CallLimitDetector(25, per_turn=True),
        ],
        Escalation((BLOCK,)),
        escalations={
            "repeat": Escalation((NOTIFY, NOTIFY, BLOCK)),
            "ping_pong": Escalation((NOTIFY, BLOCK)),
        },
        mask="arguments",
    )


PRESETS: Dict[str, Callable[[], LoopDetector]] = {
    "default": LoopDetector.default,
    "escalating": LoopDetector.escalating,
    "literal": literal,
    "patient": patient,
    "cycles": cycles,
    "budgeted": budgeted,
}
"""All presets by name, ours first."""
