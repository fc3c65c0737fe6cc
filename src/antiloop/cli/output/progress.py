"""The progress of a long command, on a terminal."""

import time

from .terminal import counted, is_watched, show_status

_INTERVAL_S = 0.5


class Progress:
    """Counts runs and files, and shows place and speed on a terminal, twice a second.

    Args:
        files: how many there are.
    """

    def __init__(self, files: int) -> None:
        self._files = files
        self._files_begun = 0
        self._file = ""
        self._runs = 0
        self._is_watched = is_watched()
        self._begun_at = self._shown_at = time.monotonic()

    def run_done(self) -> None:
        """Count a run."""
        self._runs += 1
        self._show()

    def file_begun(self, path: str) -> None:
        """Count a file that is read from now on."""
        self._files_begun += 1
        self._file = "stdin" if path == "-" else path
        self._show()

    def end(self) -> None:
        """Clear the line."""
        if self._is_watched:
            show_status("")

    def _show(self) -> None:
        if not self._is_watched:
            return
        now = time.monotonic()
        if now - self._shown_at < _INTERVAL_S:
            return
        self._shown_at = now
        rate = self._runs / (now - self._begun_at)
        # The name comes last: it may be long, and the end of the line is cut.
        show_status(
            f"file {self._files_begun:,} of {self._files:,}, {counted(self._runs, 'run')},"
            f" {rate:,.0f} a second: {self._file}"
        )
