"""The recorded runs that a command reads: files and directories, and what was skipped."""

import os
import time
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Callable, Iterator, List, NamedTuple, Optional, Sequence

from .._regular_file import what_it_is
from ._output.terminal import complain, counted, detail, is_verbose, is_watched, note, show_status

if TYPE_CHECKING:
    from ..exceptions import TraceUnreadable
    from ..loop_detection import ClientProfile
    from ..traces import RecordedRun

_INTERVAL_S = 0.5


class ProgressLine:
    """Counts runs and files, and shows place and speed on a terminal, twice a second."""

    def __init__(self, files: int) -> None:
        self._files = files
        self._files_begun = 0
        self._file = ""
        self._runs = 0
        self._is_watched = is_watched()
        self._begun_at = self._shown_at = time.monotonic()

    def run_done(self) -> None:
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


_TOLD = 10


class Skipped:
    """Reports the first skipped places of each file and counts the others."""

    def __init__(self, path: str = "") -> None:
        self._path = path
        self._count = 0

    def begin(self, path: str) -> None:
        """Go on with another file."""
        self.end()
        self._path = path

    def tell(self, what: str) -> None:
        """Report one place, with its file and line."""
        self._count += 1
        if self._count <= _TOLD or is_verbose():
            complain(what)

    def end(self) -> None:
        """Report how many further places were skipped, if any."""
        others = self._count - _TOLD
        if others > 0 and not is_verbose():
            name = "stdin" if self._path == "-" else self._path
            complain(f"{name}: {counted(others, 'further place')} like these skipped")
        self._count = 0


def portable_path(path: str) -> str:
    """Return a path below the current directory relative to it, any other one whole.

    The first is the same on another machine.
    """
    whole = os.path.abspath(path)
    try:
        is_below = os.path.commonpath([whole, os.getcwd()]) == os.getcwd()
    except ValueError:  # on another drive
        is_below = False
    return os.path.relpath(whole).replace(os.sep, "/") if is_below else whole


class RecordingFile(NamedTuple):
    """One file to read."""

    path: str
    """The path of the file; ``-`` is standard input."""
    under: Optional[str] = None
    """The directory in which it was found; None for a file that the user named."""


class Recordings:
    """The files that a command reads, in order, and what became of them.

    Files in a directory that hold no trace are skipped; a file named by the user must hold one.
    """

    def __init__(
        self,
        paths: Sequence[str],
        source: Optional[str] = None,
        profiles: "Sequence[ClientProfile]" = (),
    ) -> None:
        self.source = source
        self.profiles = profiles
        self.is_incomplete = False
        """Whether something could not be read, so that the figures may mislead."""
        self._foreign: Counter[str] = Counter()
        self.notices: List[str] = []
        """The reports of what was skipped, may be read wrong or could not be read."""
        self.doubts = 0
        """The number of reports that something may be read wrong."""
        self.files = [file for path in paths for file in self._files_at(path)]
        self.progress = ProgressLine(len(self.files))
        self.skipped = Skipped()

    @property
    def size(self) -> int:
        """About how many bytes there are to read; packed files count eightfold."""
        return sum(_size(file.path) for file in self.files)

    def runs(self) -> "Iterator[RecordedRun]":
        """Yield the runs of all files; report unreadable ones and go on."""
        from ..exceptions import TraceUnreadable
        from ..traces import read_runs

        read = partial(read_runs, source=self.source, on_trouble=self.tell, profiles=self.profiles)
        for file in self.files:
            self.begin(file)
            try:
                for recorded in read(file.path):
                    yield recorded
                    self.progress.run_done()
            except TraceUnreadable as error:
                self.give_up(file, error)
        self.end()

    def tell(self, what: str, *, is_doubt: bool = False) -> None:
        """Report one place that is skipped, or that may be read wrong."""
        self.doubts += is_doubt
        self.notices.append(str(what))
        self.skipped.tell(what)

    def begin(self, file: RecordingFile) -> None:
        """Note that a file is read from here on."""
        self.progress.file_begun(file.path)
        detail(f"reading {'stdin' if file.path == '-' else file.path}")
        self.skipped.begin(file.path)

    def give_up(self, file: RecordingFile, error: "TraceUnreadable") -> None:
        """Note that a file cannot be read, or not to its end."""
        from ..exceptions import NoTrace

        self.skipped.end()
        if file.under is not None and isinstance(error, NoTrace):
            self._foreign[file.under] += 1
        else:
            self._complain(str(error))

    def end(self) -> None:
        self.progress.end()
        self.skipped.end()
        if self.doubts:
            note(f"{counted(self.doubts, 'place')} may be read wrong; with --strict a scan fails")
        there = Counter(file.under for file in self.files)
        for under, count in self._foreign.items():
            if count == there[under]:
                self._complain(f"{under}: no recorded runs in {counted(count, 'file')}")
            else:
                files = counted(there[under], "file")
                note(f"{under}: {count:,} of {files} hold no runs; skipped")

    def _files_at(self, path: str) -> Iterator[RecordingFile]:
        if path == "-" or not os.path.isdir(path):
            yield RecordingFile(path)
            return
        others = Skipped(path)
        found = list(_files_under(path, self._cannot_enter, others.tell))
        others.end()
        if not found:
            self._complain(f"{path}: the directory holds no files")
        yield from (RecordingFile(each, path) for each in found)

    def _cannot_enter(self, error: OSError) -> None:
        self._complain(f"{error.filename}: {error.strerror}")

    def _complain(self, what: str) -> None:
        self.notices.append(what)
        complain(what)
        self.is_incomplete = True


def _files_under(
    path: str, on_trouble: Callable[[OSError], None], on_other: Callable[[str], None]
) -> Iterator[str]:
    """Yield all regular files below a directory, sorted by name; report everything else.

    A folder that is one recording counts as a file.
    """
    from ..traces._internal import is_recording

    for folder, folders, names in os.walk(path, onerror=on_trouble):
        if is_recording(folder):
            folders.clear()
            yield folder
            continue
        folders.sort()
        for each in (os.path.join(folder, name) for name in folders):
            if os.path.islink(each):  # it may lead back to where it is
                on_other(f"{each}: a link to a directory; skipped")
        for each in (os.path.join(folder, name) for name in sorted(names)):
            kind = what_it_is(each)
            if kind is None:
                yield each
            else:
                on_other(f"{each}: {kind}; skipped")


def _size(path: str) -> int:
    try:
        size = os.stat(path).st_size
    except OSError:  # reading it will say so; standard input has no size
        return 0
    return 8 * size if path.endswith(".gz") else size
