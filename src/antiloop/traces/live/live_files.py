"""Recordings that are still written, in files and folders."""

import os
import stat
from typing import Callable, Dict, Iterator, Optional, Set, Tuple

from ...exceptions import TraceUnreadable
from ...regular_file import what_it_is
from .growing_file import GrowingFile
from .live_lines import LiveLines, LiveVerdict

ENDING = ".jsonl"
"""What the names of the files in a folder end in that are looked at."""
_FOLLOWED = 16
"""How many files of a folder are followed at a time: those that were the newest last."""

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

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class LiveFolder:
    """The newest recording below a folder, and those that were the newest before.

    Args:
        path: the folder.
        begin: begins to judge a file.
        on_file: called with each file that becomes the newest for the first time.
        on_trouble: called once with ``"path: what it is"`` for everything there but files.
    """

    def __init__(
        self,
        path: str,
        begin: Begin,
        on_file: Callable[[str], None],
        on_trouble: Callable[[str], None],
    ) -> None:
        self._path = path
        self._begin = begin
        self._on_file = on_file
        self._on_trouble = on_trouble
        self._passed_over: Set[str] = set()
        self._files: Dict[str, Optional[LiveFile]] = {}

    def said(self) -> Iterator[LiveVerdict]:
        """Judge what was added since the last time; anything but a recording is skipped."""
        newest, others = newest_file(self._path)
        for path in sorted(others.keys() - self._passed_over):
            self._on_trouble(f"{path}: {others[path]}; skipped")
        self._passed_over = set(others)
        if newest is not None:
            self._follow(newest)
        for path, file in self._files.items():
            try:
                yield from file.said() if file else ()
            except TraceUnreadable:
                self._drop(path)

    def close(self) -> None:
        """Close the files."""
        for path in self._files:
            self._drop(path)

    def _follow(self, path: str) -> None:
        if path not in self._files:
            self._on_file(path)
            self._files[path] = LiveFile(path, self._begin)
        self._files[path] = self._files.pop(path)
        if len(self._files) > _FOLLOWED:
            oldest = next(iter(self._files))
            self._drop(oldest)
            del self._files[oldest]

    def _drop(self, path: str) -> None:
        file = self._files[path]
        if file is not None:
            file.close()
        self._files[path] = None


def newest_file(folder: str) -> Tuple[Optional[str], Dict[str, str]]:
    """Find the file below a folder that was written to last, None where there is none.

    The second value names what is there but is not a file, such as a pipe, with its kind.
    """
    newest: Tuple[int, Optional[str]] = (-1, None)
    others = {}
    for path in _paths_below(folder):
        written_ns = _written_ns(path)
        kind = what_it_is(path) if written_ns is None else None
        if kind is not None:
            others[path] = kind
        elif written_ns is not None:
            newest = max(newest, (written_ns, path))
    return newest[1], others


def _paths_below(folder: str) -> Iterator[str]:
    for place, _, names in os.walk(folder):
        yield from (os.path.join(place, name) for name in names if name.endswith(ENDING))


def _written_ns(path: str) -> Optional[int]:
    """Return when a file was last written; None for anything but a file."""
    try:
        found = os.stat(path)
    except OSError:  # a link to nothing, or gone since it was listed
        return None
    return found.st_mtime_ns if stat.S_ISREG(found.st_mode) else None
