"""The table of sessions that a terminal shows in place."""

import signal
from collections import Counter, deque
from contextlib import ExitStack
from typing import Callable, Deque, List, Sequence, TextIO

from ..._signals import signals_handled
from ..._text.shortening import shortened
from ...loop_detection import LoopVerdict
from ...traces._internal import LiveSession, LiveState, by_trouble
from .._output.judged_output import message
from .._output.terminal import clipped, fitted, line_of, named, painted

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
    ordered = by_trouble(sessions, now_s)
    more = len(ordered) - room
    if more > 0:
        more, ordered = more + 1, ordered[: room - 1]
    rows = [_row(each, now_s, columns) for each in ordered]
    if more > 0:
        rows.append(clipped(f"and {more:,} more", columns))
    return [clipped(_sum(sessions, now_s), columns), _head(columns), *rows, *kept]


def _sum(sessions: List[LiveSession], now_s: float) -> str:
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


_BEGIN = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"
_END = "\x1b[?7h\x1b[?25h\x1b[?1049l"


class Screen:
    """The whole terminal, restored at the end and while the process is stopped (Ctrl-Z)."""

    def __init__(self, stream: TextIO, lines: Callable[[], Sequence[str]]) -> None:
        self._stream, self._lines = stream, lines
        self._shown: List[str] = []
        self._due: Deque[Callable[[], None]] = deque()
        self._is_busy = False
        self._stack = ExitStack()

    def __enter__(self) -> "Screen":
        handlers = {
            "SIGTSTP": lambda *_: self._do(self._stop),
            "SIGCONT": lambda *_: self._do(self._begin),
            "SIGWINCH": lambda *_: self._do(self._draw),
        }
        self._do(lambda: self._write(_BEGIN))
        self._stack.callback(self._do, lambda: self._write(_END))
        self._stack.enter_context(signals_handled(handlers))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def show(self) -> None:
        """Show the lines, if they are others than before."""
        self._do(lambda: self._draw(only_news=True))

    def _do(self, act: Callable[[], None]) -> None:
        """Act now, or after what a signal interrupts: it may be in the midst of writing."""
        self._due.append(act)
        if self._is_busy:
            return
        self._is_busy = True
        try:
            while self._due:
                self._due.popleft()()
        finally:
            self._is_busy = False

    def _begin(self) -> None:
        self._write(_BEGIN)
        self._draw()

    def _stop(self) -> None:
        """Restore the terminal and stop as any program does, until the process is continued."""
        self._write(_END)
        try:
            with signals_handled({"SIGTSTP": signal.SIG_DFL, "SIGCONT": signal.SIG_DFL}):
                signal.raise_signal(signal.SIGTSTP)
        finally:
            self._begin()

    def _draw(self, only_news: bool = False) -> None:
        lines = list(self._lines())
        if lines != self._shown or not only_news:
            self._shown = lines
            self._write("\x1b[H" + "\r\n".join(f"{line}\x1b[K" for line in lines) + "\x1b[J")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
