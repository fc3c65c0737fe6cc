"""`antiloop watch` over many files and folders."""

import argparse
import os
import time
from contextlib import ExitStack, closing, suppress
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, Callable, Dict, Hashable, List, Optional, Sequence, Tuple

from ..._signals import end, signals_handled
from ...exceptions import TraceUnreadable
from ...health import HealthProfile
from ...loop_detection import ClientProfile
from ...report._internal import live_row, live_run
from ...traces import read_runs
from ...traces._internal import LiveSessions
from .._command import COULD_NOT_RUN, FOUND, naming
from .._detector import detector_of, profiles_of
from .._output.terminal import complain
from .views import Lines, SessionTable, View, is_in_place

if TYPE_CHECKING:
    from ...loop_detection import LoopDetector
    from .board import Board
    from .page_server import PageServer


class RunReader:
    """Reads one run at a time, and remembers the last one while its file does not grow."""

    def __init__(
        self, profile: HealthProfile, source: Optional[str], profiles: Sequence[ClientProfile] = ()
    ) -> None:
        self._profile = profile
        self._runs = partial(read_runs, source=source, on_trouble=_skip, profiles=profiles)
        self._lock = Lock()
        self._known: Tuple[Hashable, str] = (None, "")

    def read(self, row: Dict[str, Any]) -> Optional[str]:
        """Return the run of a row as JSON for the page; None if it cannot be read now."""
        path = row["source"].rpartition(":")[0]
        try:
            found = os.stat(path)
        except OSError:
            return None
        key = row["number"], found.st_ino, found.st_size, found.st_mtime_ns
        with self._lock:
            if self._known[0] != key:
                text = self._read(path, row)
                if text is None:
                    return None
                self._known = key, text
            return self._known[1]

    def _read(self, path: str, row: Dict[str, Any]) -> Optional[str]:
        try:
            for run in self._runs(path):
                if run.source == row["source"]:
                    return live_run(run, row["number"], self._profile)
        except TraceUnreadable:
            pass  # it was replaced by something else, or is gone
        return None


def _skip(what: str) -> None:
    """Say nothing: what is skipped was said when it was followed."""


PAUSE_S = 0.5
"""Seconds between two looks at the files."""
_DRAW_S = 1.0
"""Seconds between two drawings, also while much is read."""


class Watching:
    """Follows sessions, shows them, and notes how that ends."""

    def __init__(self, sessions: LiveSessions, view: View, board: "Optional[Board]") -> None:
        self._sessions, self._view, self._board = sessions, view, board
        self._drawn_s = 0.0
        self.status = 0

    def go_on(self) -> None:
        """Look, show and wait, until there is nothing left to follow."""
        while not self._sessions.is_empty:
            for each in self._sessions.new_verdicts():
                self.status = FOUND
                self._view.said(*each)
                if time.monotonic() - self._drawn_s > _DRAW_S:
                    self._draw()
            self._draw()
            time.sleep(PAUSE_S)

    def _draw(self) -> None:
        self._drawn_s = time.monotonic()
        sessions, now_s = self._sessions.sessions, time.time()
        self._view.draw(sessions, now_s)
        if self._board is not None:
            self._board.show(live_row(each, now_s) for each in sessions)


def watch_many(args: argparse.Namespace) -> int:
    """Follow all sessions until interrupted."""
    detector = detector_of(args)
    with ExitStack() as stack:
        troubles: List[Callable[[str], None]] = [complain]
        with naming("--serve", (OSError, ValueError)):
            server = None if args.serve is None else _served(args, detector, troubles)
        if server is not None:
            stack.callback(server.close)
        view: View = SessionTable() if is_in_place(args.format) else Lines(args.format)
        stack.callback(view.close)
        troubles[:] = [view.trouble]
        if server is not None:
            view.serving(server.url)
        sessions = LiveSessions(
            args.paths,
            detector,
            args.source,
            profiles=profiles_of(args),
            on_file=view.file,
            on_trouble=view.trouble,
        )
        stack.enter_context(closing(sessions))
        stack.enter_context(signals_handled({"SIGTERM": end}))
        watching = Watching(sessions, view, None if server is None else server.board)
        with suppress(KeyboardInterrupt):
            watching.go_on()
        return COULD_NOT_RUN if sessions.has_trouble else watching.status


def _served(
    args: argparse.Namespace, detector: "LoopDetector", troubles: List[Callable[[str], None]]
) -> "PageServer":
    from .._judged_run import profile_of
    from .board import Board
    from .page_server import PageServer

    reader = RunReader(profile_of(detector), args.source, profiles_of(args))
    return PageServer(Board(), reader.read, lambda what: troubles[0](what), args.serve)
