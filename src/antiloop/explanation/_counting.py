"""Find what each detector counted, and how much of it would have been too often.

A detector says nothing of a streak that is too short. So one that found nothing is asked again
with lower thresholds, and one that found something with higher ones: the threshold that makes the
difference is the one that counts. Thresholds are data, so a copy of the detector does.
"""

from dataclasses import dataclass
from typing import Iterator, List, Optional, Sequence, Tuple

from .._short_repr import Shown
from ..loop_detection import (
    BaseDetector,
    CallLimitDetector,
    LoopDetection,
    NoEffectDetector,
    PingPongDetector,
    RepeatDetector,
    StallDetector,
    Window,
    WindowDetector,
)
from ..stability import beta
from ._matching import before

_THRESHOLDS = ("threshold", "repetitions", "patience", "varied", "in_a_row")
_USUAL = ("threshold", "repetitions")
"""A threshold that is declared for a tool takes the place of these."""
_LONGER = ("patience", "varied")
"""Thresholds that are the usual one where they are left out."""
_CONSECUTIVE = (RepeatDetector, StallDetector, NoEffectDetector)
_LEAST, _NEVER = 2, 1_000_000


@beta
@dataclass(frozen=True, repr=False)
class Count(Shown):
    """Hold what one detector counted at a step."""

    detector: str
    """Its name."""
    option: str
    """The option that says how often is too often; ``tools`` where a tool has its own."""
    count: Optional[int]
    """The number counted; None where nothing came together that the detector looks for."""
    needed: int
    """The number from which on it is too often."""
    unit: str
    """The things counted: calls or rounds ``in a row``, ``laps``, ``calls``, or just ``times``."""
    indices: Tuple[int, ...] = ()
    """The calls that were counted, oldest first."""
    before: str = ""
    """A description of what comes before them, so that no more were counted."""
    identity: str = ""
    """The identity of the loop, where it is enough."""

    @property
    def is_enough(self) -> bool:
        """Whether the detector found a loop."""
        return self.count is not None and self.count >= self.needed


def counts_of(detector: BaseDetector, window: Window) -> Iterator[Count]:
    """Yield what a detector counted, nothing where no option of it says how often is too often."""
    options = [name for name in _THRESHOLDS if hasattr(detector, name)]
    if isinstance(detector, CallLimitDetector):
        yield from _calls_made(detector, window)
    elif isinstance(detector, WindowDetector) and options:
        found = detector.find(window)
        if found is None:
            yield from _short_of(detector, window, options)
        else:
            decisive = [name for name in options if _is_decisive(detector, window, found, name)]
            yield _count(detector, window, found, decisive or _crossed(detector, found, options))


def _crossed(detector: WindowDetector, found: LoopDetection, options: List[str]) -> List[str]:
    """Return the thresholds that were reached, where more than one of them would be enough."""
    return [name for name in options if getattr(detector, name) <= found.repetitions] or options


def _calls_made(detector: CallLimitDetector, window: Window) -> Iterator[Count]:
    name, found = detector.name, detector.find(window)
    identity = found.identity if found else ""
    if detector.limit is not None:
        made = window.turn_calls if detector.per_turn else window.call_count
        yield Count(name, "limit", made, detector.limit + 1, "calls", identity=identity)
    for item in window.rounds[-1].evidence if window.rounds else ():
        tool = item.tool
        if tool in detector.caps:
            made = window.count_of(tool, detector.per_turn)
            most = detector.caps[tool]
            yield Count(name, "per_tool", made, most + 1, "calls", identity=identity)


def _short_of(detector: WindowDetector, window: Window, options: List[str]) -> List[Count]:
    """Return the streaks that are too short, each with the threshold that it stays under."""
    detector = _by_rounds(detector)
    streaks = ((name, _asked(detector, [name], _LEAST).find(window)) for name in options)
    counts = [_count(detector, window, found, [name]) for name, found in streaks if found]
    return counts or [_short_of_all(detector, window, options)]


def _short_of_all(detector: WindowDetector, window: Window, options: List[str]) -> Count:
    lenient = _asked(detector, options, _LEAST)
    found, decisive = lenient.find(window), options
    if found is None:
        # No tool has its own threshold under this name.
        found, decisive = lenient.with_values(name="").find(window), []
    if found is None:
        needed = getattr(detector, options[0])
        return Count(detector.name, options[0], None, needed, _unit(detector, options[0]))
    return _count(detector, window, found, decisive)


def _is_decisive(
    detector: WindowDetector, window: Window, found: LoopDetection, option: str
) -> bool:
    other = _asked(detector, [option], _NEVER).find(window)
    return other is None or other.identity != found.identity


def _asked(detector: WindowDetector, options: Sequence[str], value: int) -> WindowDetector:
    """Copy a detector, some thresholds set to a value that its constructor might refuse."""
    return detector.with_values(**dict.fromkeys(options, value))


def _by_rounds(detector: WindowDetector) -> WindowDetector:
    """Copy a detector, its patience counted in rounds whatever the run says of the time."""
    return detector.with_values(patience_s=None) if hasattr(detector, "patience_s") else detector


def _count(
    detector: WindowDetector, window: Window, found: LoopDetection, decisive: Sequence[str]
) -> Count:
    needed = {name: getattr(detector, name) for name in decisive}
    declared = _declared(detector.name, window, found)
    if declared:
        needed = {name: value for name, value in needed.items() if name not in _USUAL}
        needed["tools"] = max(declared)
    option = max(needed, key=needed.__getitem__)
    return Count(
        detector.name,
        _named(detector, option),
        found.repetitions,
        needed[option],
        _unit(detector, option),
        found.indices,
        before(window, found),
        found.identity,
    )


def _named(detector: WindowDetector, option: str) -> str:
    """Return the usual threshold's name for one that was not given and so equals it."""
    usual = next((name for name in _USUAL if hasattr(detector, name)), option)
    is_left_out = option in _LONGER and getattr(detector, option) == getattr(detector, usual)
    return usual if is_left_out else option


def _unit(detector: WindowDetector, option: str) -> str:
    if option == "in_a_row" or isinstance(detector, _CONSECUTIVE):
        return "in a row"
    return "laps" if isinstance(detector, PingPongDetector) else "times"


def _declared(name: str, window: Window, found: LoopDetection) -> List[int]:
    tools = {item.tool for item in window if item.index in found.indices}
    thresholds = (window.policy(tool).thresholds.get(name) for tool in tools)
    return [threshold for threshold in thresholds if threshold is not None]
