"""Show the sessions of `antiloop watch`: each verdict as it comes, or a table in place."""

import json
import os
import sys
from contextlib import ExitStack
from shutil import get_terminal_size
from typing import List, Optional, Union

from ...loop_detection import LoopVerdict
from ...traces._internal import LiveSession, RunUnderWay
from .._output.judged_output import tell_verdict
from .._output.terminal import complain, line_of, named, note, say, tell
from .table import Screen, table

_NOTES = 10
"""Messages that are kept of those that came while a table was shown."""


class Lines:
    """A line for each verdict, for a file, a pipe, or a program."""

    def __init__(self, format_: str) -> None:
        self._is_json = format_ == "jsonl"
        self._run: Optional[RunUnderWay] = None

    def file(self, path: str) -> None:
        note(f"watching {path}")

    def serving(self, url: str) -> None:
        """Print the address of the page, also with --quiet: it cannot be found out otherwise."""
        note(f"serving {url}", always=True)

    def trouble(self, what: str) -> None:
        complain(what)

    def said(self, run: RunUnderWay, step: int, verdict: LoopVerdict) -> None:
        """Print the verdict, as text below a line for its run."""
        if self._is_json:
            beside = {"run_id": run.run_id, "source": run.source}
            say(json.dumps({**beside, "step": step, **verdict.to_dict()}))
        else:
            if run is not self._run:
                tell(line_of(f"{named(run.run_id)} ({run.source})"))
                self._run = run
            tell_verdict(step, verdict)
        sys.stdout.flush()

    def draw(self, sessions: List[LiveSession], now_s: float) -> None:
        """Print nothing: each verdict has its line already."""

    def close(self) -> None:
        """Print nothing more."""


class SessionTable:
    """One line for each session, on a terminal."""

    def __init__(self) -> None:
        self._served = ""
        self._notes: List[str] = []
        self._last: List[LiveSession] = []
        self._drawn_s = 0.0
        self._stack = ExitStack()
        self._screen = self._stack.enter_context(Screen(sys.stdout, self._lines))

    def file(self, path: str) -> None:
        """Say nothing: its sessions have their lines."""

    def serving(self, url: str) -> None:
        """Keep the address for the last line."""
        self._served = f"antiloop: serving {url}"

    def trouble(self, what: str) -> None:
        """Keep the trouble for the last lines."""
        self._notes = [*self._notes[1 - _NOTES :], f"antiloop: {what}"]

    def said(self, run: RunUnderWay, step: int, verdict: LoopVerdict) -> None:
        """Say nothing: the line of the session shows it."""

    def draw(self, sessions: List[LiveSession], now_s: float) -> None:
        """Draw the table, as large as the terminal is now."""
        self._last, self._drawn_s = sessions, now_s
        self._screen.show()

    def close(self) -> None:
        """Restore the terminal, and print the sessions with loops there."""
        self._stack.close()
        found = [each for each in self._last if each.last is not None]
        for line in table(found, self._drawn_s, (_size()[0], len(found) + 2)) if found else ():
            tell(line.rstrip())
        for each in self._notes:
            complain(each.partition(" ")[2])

    def _lines(self) -> List[str]:
        return table(self._last, self._drawn_s, _size(), self._notes, self._served)


View = Union[Lines, SessionTable]
"""Shows sessions while they go on."""


def is_in_place(format_: str) -> bool:
    """Whether a table can be shown in place: on a terminal that moves its cursor."""
    is_terminal = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    return format_ == "text" and is_terminal


def _size() -> "os.terminal_size":
    try:
        found = os.get_terminal_size(sys.stdout.fileno())
    except (OSError, ValueError):
        found = os.terminal_size((0, 0))
    return found if all(found) else get_terminal_size()
