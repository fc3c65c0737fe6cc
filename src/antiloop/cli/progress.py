"""How far a command has come with long work, for a person who is watching."""

import time

from .terminal import is_watched, show_status

_INTERVAL_S = 0.5


class Progress:
    """Counts runs and files, and shows both on a terminal, twice a second.

    Args:
        files: how many there are.
    """

    def __init__(self, files: int) -> None:
        self._files = files
        self._files_begun = 0
        self._runs = 0
        self._is_watched = is_watched()
        self._shown_at = time.monotonic()

    def run_done(self) -> None:
        """Count a run."""
        self._runs += 1
        self._show()

    def file_begun(self) -> None:
        """Count a file."""
        self._files_begun += 1
        self._show()

    def end(self) -> None:
        """Take away what is shown."""
        if self._is_watched:
            show_status("")

    def _show(self) -> None:
        if not self._is_watched or time.monotonic() - self._shown_at < _INTERVAL_S:
            return
        self._shown_at = time.monotonic()
        files = f", file {self._files_begun:,} of {self._files:,}" if self._files > 1 else ""
        show_status(f"{self._runs:,} runs{files}")
