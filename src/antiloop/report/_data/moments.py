"""Find when a run began and how long its steps took, as far as the recording has times."""

from datetime import datetime, timezone
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from ..._checks import is_number
from ...traces import RecordedRun

_LATEST_S = 253_402_300_800.0
"""The year 10000: a recording may hold milliseconds, and a browser shows no date of these."""


class Moments(NamedTuple):
    """The times of a run."""

    began_s: Optional[float]
    """In seconds since 1970; None where nothing of it has a time."""
    took_s: Optional[float]
    """From its first time to the end of its last; None without any."""
    steps: Tuple[Tuple[Optional[float], Optional[float]], ...]
    """For each step: how long after the beginning it was called, and how long it took."""

    @property
    def of_steps(self) -> List[List[Optional[float]]]:
        """The steps as plain JSON, in milliseconds' precision; empty where none has a time."""
        if all(each == (None, None) for each in self.steps):
            return []
        return [[_rounded(at), _rounded(took)] for at, took in self.steps]


def moments_of(run: RecordedRun) -> Moments:
    """Read the times of a run: those of its calls, otherwise those of its events."""
    events: Dict[int, Tuple[Optional[float], Optional[float]]] = {}
    spans: List[Tuple[Optional[float], Optional[float]]] = []
    for event in run.events:
        span = _time(event.time_s), _length(event.latency_s)
        spans.append(span)
        if event.type.startswith("tool_call"):
            events[event.step] = span
    steps = []
    for step, (call, result) in enumerate(zip(run.calls, run.results)):
        at, took = events.get(step, (None, None))
        own = _length(result.duration_s) if result else None
        start = _time(call.started_at)
        steps.append((at if start is None else start, took if own is None else own))
    spans += steps
    starts = [at for at, _ in spans if at is not None]
    if not starts:
        return Moments(None, None, tuple(steps))
    began = min(starts)
    ended = max(at + (took or 0) for at, took in spans if at is not None)
    passed = ((None if at is None else at - began, took) for at, took in steps)
    return Moments(began, ended - began, tuple(passed))


def moment(time_s: Optional[float]) -> str:
    """Write a time in UTC; empty if it is not known.

    >>> moment(0)
    '1970-01-01 00:00'
    """
    if time_s is None:
        return ""
    return datetime.fromtimestamp(time_s, timezone.utc).strftime("%Y-%m-%d %H:%M")


_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def length_of(seconds: Optional[float]) -> str:
    """Write how long something took, in the two largest units; empty if it is not known.

    >>> length_of(0.25), length_of(4.08), length_of(88), length_of(90_000)
    ('250 ms', '4.1 s', '1 min 28 s', '1 d 1 h')
    """
    if seconds is None:
        return ""
    if seconds < 10:
        return f"{seconds:.1f} s" if seconds >= 1 else f"{1000 * seconds:.0f} ms"
    at = next(at for at, (size, _) in enumerate(_UNITS) if seconds >= size)
    size, unit = _UNITS[at]
    parts = [f"{seconds // size:.0f} {unit}"]
    for smaller, name in _UNITS[at + 1 : at + 2]:
        parts += [f"{seconds % size // smaller:.0f} {name}"] * (seconds % size >= smaller)
    return " ".join(parts)


def _time(value: Any) -> Optional[float]:
    seconds = _length(value)
    return seconds if seconds is not None and 0 < seconds < _LATEST_S else None


def _length(value: Any) -> Optional[float]:
    # A recording may hold anything; a time that is none is not known.
    return float(value) if is_number(value) and 0 <= value < _LATEST_S else None


def _rounded(value: Optional[float]) -> Optional[float]:
    return None if value is None else round(value, 3)
