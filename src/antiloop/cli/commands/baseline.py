"""The loops that a scan knows already, kept in a file of text, one a line.

A line names a run and a loop of it. A run is named by its file, its id, and which run of that id
it is in the file; a loop by the calls that make it up, so thresholds and presets may change. Where
a file is not scanned any more, one run of the same id with the same loop takes its place.
"""

import argparse
import json
import os
from collections import Counter
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import (
    TYPE_CHECKING,
    Any,
    Dict,
    Iterable,
    Iterator,
    List,
    Protocol,
    Sequence,
    Set,
    Tuple,
)

from ..command import reason_of
from ..output.judged_output import message
from ..output.terminal import complain, counted, note
from ..replaced_file import named_folders, replaced_file

if TYPE_CHECKING:
    from ..judged_run import JudgedRun

_HEAD = {"antiloop": "baseline", "version": 1}
_REMEDY = "delete it, or write all anew with --write-baseline"
_Place = Tuple[str, str, int]


@dataclass(frozen=True, order=True)
class KnownLoop:
    """One line of a baseline; the order of the fields is that of the lines."""

    file: str
    """Relative to the directory where the scan ran, if it is below it."""
    run: str
    """The run's id; empty where the recording gives none."""
    nth: int
    """Which run of this id in the file, counted from 1."""
    loop: str
    """Identity of the loop."""
    calls: str
    """Fingerprint of its calls, whichever detector finds them."""
    detector: str = ""
    """What found it; this and what follows are for who reads the file."""
    message: str = ""

    def is_like(self, other: "KnownLoop") -> bool:
        """Whether both are the same loop, in whatever run."""
        return self.loop == other.loop or self.calls == other.calls


class RunNames:
    """Gives each run of a scan its place: file, id, and which run of that id in the file."""

    def __init__(self) -> None:
        self._file = ""
        self._first = ("", "")
        self._seen: Counter[str] = Counter()

    def place_of(self, judged: "JudgedRun") -> _Place:
        """Name a run; runs come in the order of their files."""
        path = judged.source.rpartition(":")[0]
        this = (judged.run_id, judged.source)
        if path != self._file or this == self._first:  # a file may be given twice
            self._file, self._first = path, this
            self._seen.clear()
        run = "" if judged.run_id == judged.source else judged.run_id
        self._seen[run] += 1
        return _portable(path), run, self._seen[run]


class Comparison(Protocol):
    """What a scan shows its runs to, to compare or to keep their loops."""

    def marked(self, judged: "JudgedRun") -> "JudgedRun":
        """Take a run, and give it with its known loops marked as such."""
        ...

    def end(self, is_whole: bool) -> bool:
        """Do what is to be done after the last run.

        Args:
            is_whole: whether everything could be read.

        Returns:
            Whether it could be done.
        """
        ...


class NewBaseline:
    """Keeps all loops of a scan and writes them down.

    Args:
        path: where they are written.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._loops: List[KnownLoop] = []
        self._names = RunNames()

    def marked(self, judged: "JudgedRun") -> "JudgedRun":
        """Keep the loops of a run; none of them is known."""
        self._loops.extend(loops_of(judged, self._names.place_of(judged)))
        return judged

    def end(self, is_whole: bool) -> bool:
        """Write the baseline, if everything was seen that belongs to it."""
        if not is_whole:
            complain(f"{self._path}: not written, as not everything could be read")
            return False
        try:
            with replaced_file(self._path, within=named_folders(self._path)) as file:
                file.write(written(self._loops))
        except OSError as error:
            complain(f"{self._path}: {reason_of(error)}")
            return False
        note(f"{self._path}: {counted(len(set(self._loops)), 'loop')} written")
        return True


class Baseline:
    """The loops that are known, to be asked for each run of a scan in turn.

    Args:
        loops: what is known.
        path: where it was read, for messages.
    """

    def __init__(self, loops: Iterable[KnownLoop], path: str) -> None:
        self._path = path
        self._loops: Dict[_Place, List[KnownLoop]] = {}
        self._gone: Dict[_Place, List[KnownLoop]] = {}
        self._seen: Set[KnownLoop] = set()
        self._names = RunNames()
        for each in loops:
            self._loops.setdefault((each.file, each.run, each.nth), []).append(each)

    def begin(self, paths: Iterable[str]) -> None:
        """Tell which files are scanned: what is known of others may have moved to them."""
        scanned = {_portable(path) for path in paths}
        gone = [place for place in self._loops if place[0] not in scanned]
        self._gone = {place: self._loops.pop(place) for place in gone}

    def marked(self, judged: "JudgedRun") -> "JudgedRun":
        """Give a run with its known loops marked as such."""
        place = self._names.place_of(judged)
        loops = list(loops_of(judged, place))
        if place not in self._loops:
            self._move(place, loops)
        known = set()
        for each in self._loops.get(place, ()):
            alike = [loop.loop for loop in loops if loop.is_like(each)]
            known.update(alike)
            if alike:
                self._seen.add(each)
        return replace(judged, known=frozenset(known))

    def end(self, is_whole: bool) -> bool:
        """Say how many known loops of the files that were scanned were not found again."""
        count = sum(map(len, self._loops.values())) - len(self._seen)
        if count and is_whole:
            note(f"{self._path}: {counted(count, 'known loop')} not found any more")
        return True

    def _move(self, place: _Place, loops: Sequence[KnownLoop]) -> None:
        """Let a run take the place of one in a file that is not scanned any more, if it may."""
        for old, known in self._gone.items():
            if old[1] == place[1] and any(a.is_like(b) for a in known for b in loops):
                self._loops[place] = self._gone.pop(old)
                return


def loops_of(judged: "JudgedRun", place: _Place) -> Iterator[KnownLoop]:
    """Yield each loop of a run once."""
    seen: Set[str] = set()
    for _, verdict in judged.verdicts:
        found = verdict.detection
        if found is None or found.identity in seen:
            continue
        seen.add(found.identity)
        calls = sha256(" ".join(sorted(found.members)).encode()).hexdigest()[:16]
        yield KnownLoop(*place, found.identity, calls, found.detector_name, message(verdict))


def read_baseline(path: str) -> Baseline:
    """Read a baseline; what is wrong with it is told as a wrong argument."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            return Baseline(_read(file), path)
    except FileNotFoundError:
        raise argparse.ArgumentTypeError(
            f"{path}: no such file; --write-baseline {path} writes it"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise argparse.ArgumentTypeError(f"{path}: {reason_of(error)}") from error


def written(loops: Iterable[KnownLoop]) -> str:
    """Give the text of a baseline; the same loops give the same text."""
    lines = [_HEAD, *map(asdict, sorted(set(loops)))]
    return "".join(f"{json.dumps(line)}\n" for line in lines)


def _read(lines: Iterable[str]) -> Iterator[KnownLoop]:
    records = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not records or _parsed(*records[0]) != _HEAD:
        raise ValueError("no baseline of this version; --write-baseline writes one")
    for number, line in records[1:]:
        yield _loop(number, _parsed(number, line))


def _parsed(number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise ValueError(f"line {number}: not JSON: {error}; {_REMEDY}") from error


def _loop(number: int, record: Any) -> KnownLoop:
    try:
        loop = KnownLoop(**record)
    except TypeError as error:
        raise ValueError(f"line {number}: no known loop; {_REMEDY}") from error
    texts = (loop.file, loop.run, loop.loop, loop.calls)
    if not all(isinstance(text, str) for text in texts) or not isinstance(loop.nth, int):
        raise ValueError(f"line {number}: no known loop; {_REMEDY}")
    return loop


def _portable(path: str) -> str:
    """Give a path so that it is the same on another machine, where that can be."""
    whole = os.path.abspath(path)
    try:
        shown = os.path.relpath(whole)
    except ValueError:  # on another drive
        return whole
    return whole if shown.startswith(os.pardir) else shown.replace(os.sep, "/")
