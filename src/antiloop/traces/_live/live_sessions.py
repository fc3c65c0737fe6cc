"""Many recordings that are written at the same time, in files and folders."""

import os
from contextlib import suppress
from time import monotonic, time
from typing import Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Set, Tuple
from weakref import WeakKeyDictionary

from ..._latest import Latest
from ..._regular_file import what_it_is
from ...exceptions import NoTrace, TraceUnreadable
from ...loop_detection import ClientProfile, LoopDetector, LoopVerdict
from .._shared.run_under_way import RunUnderWay
from .live_folders import FoundFile, LiveFolders
from .live_lines import LiveFile, LiveLines, LiveVerdict
from .live_session import IDLE_S, LiveSession

_SOONEST_S, _LATEST_S = 0.5, 4.0
"""Seconds between two looks at a file: few while it grows, more and more while it does not."""
_OPEN = 100
"""Files that are kept open, so that what is written to one while it is moved is not lost."""


class _Followed:
    """A file, and when to look at it again."""

    def __init__(self, path: str, begin: Callable[["_Followed"], LiveFile], is_named: bool) -> None:
        self.path = path
        self.is_named = is_named
        self.numbers: Set[int] = set()
        self.written_s = 0.0
        self._begin = begin
        self.begin()

    def begin(self) -> None:
        """Read the file from its start, when there is one."""
        self.file = self._begin(self)
        self.known: Optional[Tuple[int, int, int]] = None
        self.look_s = 0.0
        self.every_s = _SOONEST_S


class LiveSessions:
    """Follows files, and the files below folders that are written now.

    The memory for each is bounded, and so is their number.

    Args:
        on_trouble: called with what is skipped and what cannot be read.
        most: files that are followed at a time; another one takes the place of one that is idle.
        ticks: gives the seconds by which the looks are timed.
    """

    def __init__(
        self,
        paths: Sequence[str],
        detector: LoopDetector,
        source: Optional[str] = None,
        *,
        profiles: Iterable[ClientProfile] = (),
        on_file: Callable[[str], None],
        on_trouble: Callable[[str], None],
        most: int = 500,
        clock: Callable[[], float] = time,
        ticks: Callable[[], float] = monotonic,
    ) -> None:
        folders = [path for path in paths if os.path.isdir(path)]
        self._folders = LiveFolders(folders, on_trouble)
        self._detector, self._source, self._profiles = detector, source, tuple(profiles)
        self._on_file, self._on_trouble = on_file, on_trouble
        self._most, self._clock, self._ticks = most, clock, ticks
        self._files: Dict[str, _Followed] = {}
        """By their real paths, as one file may be found in several ways."""
        self._sessions: Latest[int, LiveSession] = Latest(2 * most)
        self._of_run: WeakKeyDictionary[RunUnderWay, LiveSession] = WeakKeyDictionary()
        self._refused: Latest[str, None] = Latest(2 * most)
        self._begun = 0
        self.has_trouble = False
        """Whether a file that was named could not be followed."""
        for path in paths:
            if path not in folders:
                self._follow_named(path)

    @property
    def sessions(self) -> List[LiveSession]:
        """The runs that are known; those heard of longest ago are forgotten."""
        return list(self._sessions.values())

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to follow, and nothing can come."""
        return not self._files and not self._folders.paths

    def new_verdicts(self) -> Iterator[LiveVerdict]:
        """Judge what was added since the last time, wherever it is time to look."""
        now_s = self._clock()
        tick_s = self._ticks()
        new = self._folders.new_files(now_s, tick_s, self._files)
        for _, path in self._make_room(new, now_s) if new else ():
            self._follow(path)
        for followed in list(self._files.values()):
            if followed.look_s <= tick_s:
                yield from self._verdicts_in(followed, now_s)
                followed.look_s = tick_s + followed.every_s

    def close(self) -> None:
        for followed in self._files.values():
            followed.file.close()

    def _follow_named(self, path: str) -> None:
        kind = "No such file or directory" if not os.path.lexists(path) else what_it_is(path)
        if kind is None:
            self._follow(path, is_named=True)
        else:
            self._on_trouble(f"{path}: {kind}; skipped")
            self.has_trouble = True

    def _follow(self, path: str, is_named: bool = False) -> None:
        key = os.path.realpath(path)
        if key not in self._files:
            self._files[key] = _Followed(path, self._file, is_named)
            self._on_file(path)

    def _file(self, followed: _Followed) -> LiveFile:
        def begin(name: str) -> LiveLines:
            self._forget_sessions(followed)
            given = (name, self._detector, self._source, self._on_trouble, hear, self._profiles)
            return LiveLines(*given)

        def hear(run: RunUnderWay, judged: int, verdict: LoopVerdict) -> None:
            session = self._of_run.get(run) or self._session(followed, run)
            session.written_s = followed.written_s
            session.take(judged, verdict)
            self._sessions[session.number] = session

        return LiveFile(followed.path, begin)

    def _session(self, followed: _Followed, run: RunUnderWay) -> LiveSession:
        session = LiveSession(self._begun, followed.path, run, 4 * self._detector.window)
        self._begun += 1
        self._of_run[run] = session
        followed.numbers.add(session.number)
        followed.numbers &= self._sessions.keys() | {session.number}
        return session

    def _forget_sessions(self, followed: _Followed) -> None:
        for number in followed.numbers:
            self._sessions.pop(number, None)
        followed.numbers.clear()

    def _verdicts_in(self, followed: _Followed, now_s: float) -> Iterator[LiveVerdict]:
        try:
            found = os.stat(followed.path)
        except (FileNotFoundError, NotADirectoryError):
            yield from self._last_verdicts_in(followed)
            return
        except OSError as error:
            self._give_up(followed, f"{followed.path}: {error.strerror}")
            return
        known, followed.known = followed.known, (found.st_ino, found.st_size, found.st_mtime_ns)
        if followed.known != known:
            followed.every_s, followed.written_s = _SOONEST_S, found.st_mtime
            yield from self._read(followed)
        else:
            followed.every_s = min(2 * followed.every_s, _LATEST_S)
        if now_s - followed.written_s > IDLE_S or len(self._files) > _OPEN:
            followed.file.rest()

    def _read(self, followed: _Followed) -> Iterator[LiveVerdict]:
        try:
            yield from followed.file.new_verdicts()
        except TraceUnreadable as error:
            self._give_up(followed, str(error))

    def _last_verdicts_in(self, followed: _Followed) -> Iterator[LiveVerdict]:
        """Yield what is left of a file that is gone; its sessions end with it."""
        if followed.known is not None:
            with suppress(TraceUnreadable):
                yield from followed.file.new_verdicts()
            with suppress(NoTrace):
                yield from followed.file.end()
            self._forget_sessions(followed)
        followed.file.close()
        followed.begin()
        if not followed.is_named:
            self._forget_file(followed)

    def _give_up(self, followed: _Followed, why: str) -> None:
        """Follow a file no more; only one that was named is worth a word."""
        self._drop(followed)
        self._folders.leave(followed.path)
        if followed.is_named:
            self._on_trouble(why)
            self.has_trouble = True

    def _make_room(self, new: List[FoundFile], now_s: float) -> List[FoundFile]:
        """Drop idle files for new ones; return those that there is room for."""
        idle = sorted(
            (each.written_s, each.path)
            for each in self._files.values()
            if not each.is_named and now_s - each.written_s > IDLE_S
        )
        room = max(0, self._most - len(self._files))
        dropped = idle[: max(0, len(new) - room)]
        for _, path in dropped:
            self._on_trouble(f"{path}: idle, and no longer followed; at most {self._most:,} are")
            self._drop(self._files[os.path.realpath(path)])
        start = max(0, len(new) - room - len(dropped))
        for _, path in new[:start]:
            if path not in self._refused:
                self._refused[path] = None
                self._on_trouble(f"{path}: not followed; at most {self._most:,} are")
        for written_s, path in [*dropped, *new[:start]]:
            self._folders.leave(path, written_s)
        return new[start:]

    def _drop(self, followed: _Followed) -> None:
        followed.file.close()
        self._forget_sessions(followed)
        self._forget_file(followed)

    def _forget_file(self, followed: _Followed) -> None:
        self._files = {key: each for key, each in self._files.items() if each is not followed}
