"""`antiloop watch` over many files and folders."""

import argparse
import time
from contextlib import ExitStack, closing, suppress
from typing import TYPE_CHECKING, Callable, List, Optional

from ...signals import end, signals_handled
from ...traces.live.live_sessions import LiveSessions
from ..command import COULD_NOT_RUN, FOUND, reason_of
from ..detector import detector_of
from ..output.terminal import complain
from .views import Lines, Table, View, is_in_place

if TYPE_CHECKING:
    from ...loop_detection import LoopDetector
    from .board import Board
    from .page_server import PageServer

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
            for said in self._sessions.said():
                self.status = FOUND
                self._view.said(*said)
                if time.monotonic() - self._drawn_s > _DRAW_S:
                    self._draw()
            self._draw()
            time.sleep(PAUSE_S)

    def _draw(self) -> None:
        self._drawn_s = time.monotonic()
        known, now_s = self._sessions.sessions, time.time()
        self._view.draw(known, now_s)
        if self._board is not None:
            from ...report.live_page import live_row

            self._board.show(live_row(each, now_s) for each in known)


def watch_many(args: argparse.Namespace) -> int:
    """Follow all sessions until interrupted."""
    detector = detector_of(args)
    with ExitStack() as stack:
        troubles: List[Callable[[str], None]] = [complain]
        try:
            server = None if args.serve is None else _served(args, detector, troubles)
        except (OSError, ValueError) as error:
            complain(f"--serve: {reason_of(error)}")
            return COULD_NOT_RUN
        if server is not None:
            stack.callback(server.close)
        view: View = Table() if is_in_place(args.format) else Lines(args.format)
        stack.callback(view.close)
        troubles[:] = [view.trouble]
        if server is not None:
            view.serving(server.url)
        sessions = LiveSessions(
            args.paths, detector, args.source, on_file=view.file, on_trouble=view.trouble
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
    from ..judged_run import profile_of
    from .board import Board
    from .page_server import PageServer
    from .run_reader import RunReader

    reader = RunReader(profile_of(detector), args.source)
    return PageServer(Board(), reader.read, lambda what: troubles[0](what), args.serve)
