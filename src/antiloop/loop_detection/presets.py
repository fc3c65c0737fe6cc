"""Detectors that reproduce published designs, for comparison and for those who miss them.

`LoopDetector.default` and `LoopDetector.escalating` are what we recommend; the figures of all of
them stand side by side in the reference.
"""

from typing import Callable, Dict

from ..stability import beta
from . import preset_makers
from .detector import LoopDetector


@beta
def literal(*, shadow: bool = False) -> LoopDetector:
    """Repeat 3, stall 3, ping-pong 2x3 on tool names, raise: each exactly as the bare class."""
    return preset_makers.literal(LoopDetector, shadow=shadow)


@beta
def patient(*, shadow: bool = False) -> LoopDetector:
    """Warn late and refuse later: 10, 20, 30 within the last 30 calls, as OpenClaw does.

    A repeated call is a warning at 10. The same call with the same result, which is no progress, is
    refused at 20. Two calls in turn are a warning at 10 and refused at 20, as long as their results
    stay. At 30 outcomes without progress the breaker has the last word, whichever loop it is. Polls
    are judged by their results alone: `command_status`, and `process` with the action poll or log,
    which may also be tools named `process.poll` and `process.log`. Every warning and refusal is
    logged.
    """
    return preset_makers.patient(LoopDetector, shadow=shadow)


@beta
def cycles(laps: int = 3, *, shadow: bool = False) -> LoopDetector:
    """Find cycles of one, two and three calls: warn as the user, warn again, stop.

    Calls are compared by tool and arguments; a cycle counts when it is repeated as a whole, without
    a gap.

    Args:
        laps: how often a cycle comes before it is found, 2 or more.
        shadow: as that of `LoopDetector`.
    """
    return preset_makers.cycles(LoopDetector, laps, shadow=shadow)


@beta
def budgeted(*, shadow: bool = False) -> LoopDetector:
    """Warn at 3 and refuse at 5 equal calls, at 4 and 6 alternating ones; 25 calls a turn.

    The budget is looked at first, then the same call, then the two that alternate. Each call past a
    threshold is a warning or a refusal again, and a call that breaks the row begins a new one.
    Every warning and refusal is logged. No arguments stand in what it says, nor in snapshots.
    """
    return preset_makers.budgeted(LoopDetector, shadow=shadow)


PRESETS: Dict[str, Callable[..., LoopDetector]] = {
    "default": LoopDetector.default,
    "escalating": LoopDetector.escalating,
    "literal": literal,
    "patient": patient,
    "cycles": cycles,
    "budgeted": budgeted,
}
"""All presets by name, ours first."""
