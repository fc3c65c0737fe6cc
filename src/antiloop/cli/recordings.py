"""The recorded runs that a command reads: files and directories, and their format."""

import argparse
import os
from collections import Counter
from typing import TYPE_CHECKING, Callable, Iterator, NamedTuple, Optional, Sequence

from ..regular_file import what_it_is
from .command import add_names
from .output.progress import Progress
from .output.skipped import Skipped
from .output.terminal import complain, counted, detail, note

if TYPE_CHECKING:
    from ..exceptions import TraceUnreadable
    from ..traces import RecordedRun

FORMATS = (
    "antiloop",
    "openai-chat",
    "otlp",
    "atif",
    "swe-agent",
    "anthropic",
    "claude-code",
    "openai-responses",
    "mini-swe-agent",
    "openhands",
    "codex",
    "langchain",
    "event-log",
    "gemini",
    "gemini-cli",
    "pydantic-ai",
    "adk",
    "strands",
    "inspect",
    "langfuse",
    "phoenix",
    "langsmith",
    "weave",
)
"""Names of trace formats, repeated here so that help does not load them."""


def add_recordings(parser: argparse.ArgumentParser) -> None:
    """Add the files and their format to a command."""
    parser.add_argument(
        "paths",
        nargs="+",
        metavar="PATH",
        help="recorded runs: files, directories (read recursively), or - for standard input",
    )
    add_source(parser)


def add_source(parser: argparse.ArgumentParser) -> None:
    """Add ``--from`` to a command, and the names of the formats to its help."""
    parser.add_argument(
        "--from",
        choices=FORMATS,
        dest="source",
        metavar="FORMAT",
        help="input format (detected by default)",
    )
    add_names(parser, "formats", [", ".join(FORMATS)])


def path_to_write(path: str) -> str:
    """Return the path of a file to write; one that holds recorded runs is a wrong argument.

    In ``-o *.jsonl``, without a name, the first recording would be the file to write.
    """
    from ..exceptions import TraceUnreadable
    from ..traces import read_runs

    try:
        if os.path.isfile(path) and any(True for _ in read_runs(path, on_trouble=_ignore)):
            raise argparse.ArgumentTypeError(
                f"{path} holds recorded runs, which would be lost; name another file"
            )
    except TraceUnreadable:
        pass  # nothing of that kind is lost
    return path


def _ignore(_: str) -> None:
    """Take a report of trouble that does not matter."""


class RecordingFile(NamedTuple):
    """One file to read."""

    path: str
    """Where it is; ``-`` is standard input."""
    under: Optional[str] = None
    """The directory in which it was found; None for a file that the user named."""


class Recordings:
    """The files that a command reads, in order, and what became of them.

    Files in a directory that hold no trace are skipped; a file named by the user must hold one.

    Args:
        paths: files, directories, or ``-``.
        source: the format of all of them; None to detect it.
    """

    def __init__(self, paths: Sequence[str], source: Optional[str] = None) -> None:
        self.source = source
        self.is_incomplete = False
        """Whether something could not be read, so that the figures may mislead."""
        self._foreign: Counter[str] = Counter()
        self.files = [file for path in paths for file in self._files_at(path)]
        self.progress = Progress(len(self.files))
        self.skipped = Skipped()

    def runs(self) -> "Iterator[RecordedRun]":
        """Yield the runs of all files; report unreadable ones and go on."""
        from ..exceptions import TraceUnreadable
        from ..traces import read_runs

        for file in self.files:
            self.begin(file)
            try:
                for recorded in read_runs(
                    file.path, source=self.source, on_trouble=self.skipped.tell
                ):
                    yield recorded
                    self.progress.run_done()
            except TraceUnreadable as error:
                self.give_up(file, error)
        self.end()

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
        """Report what was skipped."""
        self.progress.end()
        self.skipped.end()
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
        complain(what)
        self.is_incomplete = True


def _files_under(
    path: str, on_trouble: Callable[[OSError], None], on_other: Callable[[str], None]
) -> Iterator[str]:
    """Yield all regular files below a directory, sorted by name; report everything else."""
    for folder, folders, names in os.walk(path, onerror=on_trouble):
        folders.sort()
        for each in (os.path.join(folder, name) for name in sorted(names)):
            kind = what_it_is(each)
            if kind is None:
                yield each
            else:
                on_other(f"{each}: {kind}; skipped")
