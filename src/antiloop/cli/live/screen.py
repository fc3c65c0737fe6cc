"""The whole terminal, drawn on in place and given back at the end."""

import signal
from collections import deque
from contextlib import ExitStack
from typing import Callable, Deque, List, Sequence, TextIO

from ...signals import signals_handled

_BEGIN = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"
_END = "\x1b[?7h\x1b[?25h\x1b[?1049l"


class Screen:
    """The whole terminal, restored at the end and while the process is stopped (Ctrl-Z).

    Args:
        stream: the terminal.
        lines: returns what to show, as large as the terminal is now.
    """

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
