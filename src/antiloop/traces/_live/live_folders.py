"""Recordings that are still written, below folders."""

import os
from time import monotonic
from typing import Callable, Container, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from ..._regular_file import what_it_is

ENDING = ".jsonl"
"""The ending of the file names that are looked at in a folder."""
RECENT_S = 3_600.0
"""A file is followed if it was written within these seconds, or is the newest of its folder."""
_EVERY_S = 2.0
_SHARE = 50
"""The least wait before the next look, as a multiple of the time that a look takes."""


class LiveFolders:
    """Finds what is written below folders.

    Args:
        on_trouble: called once with ``"path: what it is"`` for everything there but files.
    """

    def __init__(self, paths: Sequence[str], on_trouble: Callable[[str], None]) -> None:
        self.paths = paths
        self._on_trouble = on_trouble
        self._others: Set[str] = set()
        self._left: Dict[str, Optional[float]] = {}
        self._look_s = 0.0

    def leave(self, path: str, written_s: Optional[float] = None) -> None:
        """Find a file no more, or only when it was written again."""
        self._left[path] = written_s

    def new_files(self, now_s: float, tick_s: float, known: Container[str]) -> "List[FoundFile]":
        """Find files that are written now and are not known, if it is time for another look.

        Args:
            now_s: the Unix time.
            tick_s: what the looks are timed by.
            known: real paths.
        """
        if not self.paths or tick_s < self._look_s:
            return []
        began_s = monotonic()
        files: List[FoundFile] = []
        others: Dict[str, str] = {}
        there: Set[str] = set()
        for folder in self.paths:
            found, beside = files_below(folder)
            there.update(each.path for each in found)
            others.update(beside)
            files += [each for each in found[:-1] if now_s - each.written_s < RECENT_S]
            files += found[-1:]
        for path in sorted(others.keys() - self._others):
            self._on_trouble(f"{path}: {others[path]}; skipped")
        self._others = set(others)
        self._left = {path: at for path, at in self._left.items() if path in there}
        self._look_s = tick_s + max(_EVERY_S, _SHARE * (monotonic() - began_s))
        wanted = filter(self._is_wanted, files)
        new = {os.path.realpath(each.path): each for each in wanted}
        return sorted(each for path, each in new.items() if path not in known)

    def _is_wanted(self, file: "FoundFile") -> bool:
        return file.path not in self._left or self._left[file.path] not in (None, file.written_s)


class FoundFile(NamedTuple):
    """A file in a folder."""

    written_s: float
    """The time at which it was last written, as a Unix time."""
    path: str


def files_below(folder: str) -> Tuple[List[FoundFile], List[Tuple[str, str]]]:
    """Find the recordings below a folder, the one that was written to last at the end.

    The second list names what is there but is not a file, such as a pipe, with its kind.
    """
    files, others = [], []
    for place, folders, names in os.walk(folder):
        linked = (os.path.join(place, name) for name in folders)
        others += [(path, "a link to a directory") for path in linked if os.path.islink(path)]
        for path in (os.path.join(place, name) for name in names if name.endswith(ENDING)):
            kind = what_it_is(path)
            if kind is not None:
                others.append((path, kind))
                continue
            try:
                files.append(FoundFile(os.stat(path).st_mtime, path))
            except FileNotFoundError:  # gone since it was listed
                continue
    return sorted(files), sorted(others)
