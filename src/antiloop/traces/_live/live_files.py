"""Recordings that are still written, in files."""

from typing import Callable, Iterator, Optional

from .growing_file import GrowingFile
from .live_lines import LiveLines, LiveVerdict

Begin = Callable[[str], LiveLines]
"""Begins to judge the recording of that name."""


class LiveFile:
    """A recording in one file; if the file starts again, so does the recording."""

    def __init__(self, path: str, begin: Begin) -> None:
        self._file = GrowingFile(path)
        self._begin = begin
        self._lines: Optional[LiveLines] = None
        self._times_begun = 0

    def said(self) -> Iterator[LiveVerdict]:
        """Judge what was added since the last time.

        Raises:
            TraceUnreadable: if it cannot be read, or is nothing that can be judged line by line.
        """
        for number, line in self._file.new_lines():
            if self._lines is None or self._times_begun != self._file.times_begun:
                self._lines = self._begin(self._file.path)
                self._times_begun = self._file.times_begun
            yield from self._lines.take(number, line)

    def end(self) -> Iterator[LiveVerdict]:
        """Yield the remaining verdicts when nothing more comes.

        Raises:
            NoTrace: if there was no recorded run.
        """
        if self._lines is not None:
            yield from self._lines.end()

    def rest(self) -> None:
        """Close the file until something is added."""
        self._file.rest()

    def close(self) -> None:
        """Close the file."""
        self._file.close()
