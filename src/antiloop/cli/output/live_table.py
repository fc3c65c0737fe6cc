"""What a terminal shows of many sessions: one line each."""

from collections import Counter
from typing import List, Sequence

from ...loop_detection import LoopVerdict
from ...loop_detection.text.shortening import shortened
from ...traces.live.live_session import LiveSession, LiveState, by_trouble
from .fitting import clipped, fitted
from .judged_output import message
from .terminal import line_of, named, painted

_STYLES = {LiveState.LOOPING: "red", LiveState.SUSPICIOUS: "yellow", LiveState.WORKING: "green"}
_STATE, _STEPS, _SUSPICION = 10, 7, 10
_NARROW = 56
"""Columns below which only state and name are shown."""
_NAMES = 36
"""Columns of a name at most."""


def table(
    sessions: List[LiveSession],
    now_s: float,
    size: Sequence[int],
    notes: Sequence[str] = (),
    served: str = "",
) -> List[str]:
    """Return the lines that fit a terminal: the most troubled sessions, and the number of others.

    Args:
        sessions: in any order.
        now_s: the Unix time.
        size: columns and lines of the terminal.
        notes: what else is to be said, the latest last.
        served: the line with the address of the page, which is never cut.
    """
    columns, lines = size[0], max(3, size[1])
    latest = notes[-(lines // 4) :] if lines // 4 else ()
    kept = [clipped(shortened(line_of(each), columns), columns) for each in latest]
    kept += fitted(served, columns, 0)[: lines - 3] if served else []
    room = max(1, lines - 2 - len(kept))
    ordered = by_trouble(sessions)
    more = len(ordered) - room
    if more > 0:
        more, ordered = more + 1, ordered[: room - 1]
    rows = [_row(each, now_s, columns) for each in ordered]
    if more > 0:
        rows.append(clipped(f"and {more:,} more", columns))
    return [clipped(_sum(sessions, now_s), columns), _head(columns), *rows, *kept]


def _sum(sessions: List[LiveSession], now_s: float) -> str:
    """Count the sessions by state."""
    counts = Counter(each.state(now_s) for each in sessions)
    states = ", ".join(f"{counts[each]:,} {each.value}" for each in LiveState if counts[each])
    noun = "session" if len(sessions) == 1 else "sessions"
    return f"{len(sessions):,} {noun}" + (f": {states}" if states else "")


def _head(columns: int) -> str:
    if columns < _NARROW:
        return clipped(f"{'state':<{_STATE}} session", columns)
    name = _name_width(columns)
    head = f"{'state':<{_STATE}} {'steps':>{_STEPS}} {'suspicion':>{_SUSPICION}}  "
    return clipped(f"{head}{'session':<{name}}  last verdict", columns)


def _row(session: LiveSession, now_s: float, columns: int) -> str:
    state = session.state(now_s)
    word = clipped(state.value, columns)
    shown = painted(word, _STYLES[state]) if state in _STYLES else word
    rest = " " * (_STATE - len(word))
    if columns < _NARROW:
        return shown + clipped(f"{rest} {named(session.run_id)}", columns - len(word))
    name = clipped(named(session.run_id), _name_width(columns), pad=True)
    figures = f"{session.steps:>{_STEPS},} {session.suspicion:>{_SUSPICION}.0%}"
    last = _verdict(*session.last) if session.last else ""
    return shown + clipped(f"{rest} {figures}  {name}  {last}", columns - len(word)).rstrip()


def _verdict(step: int, verdict: LoopVerdict) -> str:
    return line_of(f"step {step}  {verdict.action.value}  {message(verdict)}")


def _name_width(columns: int) -> int:
    return min(_NAMES, (columns - _STATE - _STEPS - _SUSPICION) // 3)
