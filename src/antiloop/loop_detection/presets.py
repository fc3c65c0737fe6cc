"""Detectors that reproduce published designs, for comparison and for migration.

We recommend `LoopDetector.default` and `LoopDetector.escalating`; the reference compares the
figures of all presets.
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

    A repeated call causes a warning at 10. The same call with the same result is blocked at 20. Two
    alternating calls cause a warning at 10 and are blocked at 20, as long as their results stay the
    same. At 30 outcomes without progress a breaker stops any loop. Polls are judged by their
    results alone: `command_status`, and `process` with the action poll or log, which may also be
    tools named `process.poll` and `process.log`. Every warning and block is logged.
    """
    return preset_makers.patient(LoopDetector, shadow=shadow)


@beta
def cycles(laps: int = 3, *, shadow: bool = False) -> LoopDetector:
    """Find cycles of one, two and three calls: warn as the user, warn again, stop.

    Calls are compared by tool and arguments. A cycle counts if it repeats completely and without a
    gap.

    Args:
        laps: laps that make a loop, 2 or more.
        shadow: see `LoopDetector`.

    Raises:
        ValueError: if laps is below 2.
    """
    return preset_makers.cycles(LoopDetector, laps, shadow=shadow)


@beta
def budgeted(*, shadow: bool = False) -> LoopDetector:
    """Warn at 3 and refuse at 5 equal calls, at 4 and 6 alternating ones; 25 calls a turn.

    The budget is checked first, then equal calls, then alternating calls. Each call past a
    threshold causes another warning or block, and a different call starts a new count. Every
    warning and block is logged. Messages and snapshots contain no arguments.
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
"""All presets by name; our own presets come first."""
