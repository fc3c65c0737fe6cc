"""The loops that are known already, in a text file with one loop a line.

A line names a run and one of its loops. A run is identified by its file, its id, and its number
among the runs with that id in the file. A loop is identified by its calls, so thresholds and
presets may change. If a file is no longer scanned, one run with the same id and loop in another
file replaces it.
"""

import argparse
import json
from collections import Counter
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Sequence, Set, Tuple, Union

from ..._regular_file import opener
from ..._replaced_file import named_folders, replaced_file
from .._command import CommandFailed, naming, reason_of
from .._output.judged_output import message
from .._output.terminal import counted, note
from .._recordings import portable_path

if TYPE_CHECKING:
    from .._judged_run import JudgedRun

_HEAD = {"antiloop": "baseline", "version": 1}
_REMEDY = "delete the line, or write the file again with --write-baseline"
_Place = Tuple[str, str, int]


@dataclass(frozen=True, order=True)
class KnownLoop:
    """One line of a baseline; the order of the fields is that of the lines."""

    file: str
    """Relative to the directory where the scan ran, if it is below it."""
    run: str
    """The run's id; empty where the recording gives none."""
    nth: int
    """The number of the run among those of this id in the file, counted from 1."""
    loop: str
    calls: str
    """Fingerprint of its calls, whichever detector finds them."""
    detector: str = ""
    """The detector that found it; this field and the next are for human readers."""
    message: str = ""

    def is_like(self, other: "KnownLoop") -> bool:
        """Whether both are the same loop, in any run."""
        return self.loop == other.loop or self.calls == other.calls


class RunNames:
    """Finds the place of each run of a scan: file, id, and which run of that id in the file."""

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
        return portable_path(path), run, self._seen[run]


class NewBaseline:
    """Keeps all loops of a scan and writes them down."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._loops: List[KnownLoop] = []
        self._names = RunNames()

    def marked(self, judged: "JudgedRun") -> "JudgedRun":
        """Keep the loops of a run; none of them is known."""
        self._loops.extend(loops_of(judged, self._names.place_of(judged)))
        return judged

    def end(self, is_whole: bool) -> None:
        """Write the baseline.

        Raises:
            CommandFailed: if some recordings could not be read, or the file cannot be written.
        """
        path = self._path
        if not is_whole:
            raise CommandFailed(f"{path}: not written because some recordings could not be read")
        with naming(path), replaced_file(path, within=named_folders(path)) as file:
            file.write(written(self._loops))
        note(f"{path}: {counted(len(set(self._loops)), 'loop')} written")


class Baseline:
    """The known loops, looked up for each run of a scan in turn."""

    def __init__(self, loops: Iterable[KnownLoop], path: str) -> None:
        self._path = path
        self._loops: Dict[_Place, List[KnownLoop]] = {}
        self._gone: Dict[_Place, List[KnownLoop]] = {}
        self._seen: Set[KnownLoop] = set()
        self._names = RunNames()
        for each in loops:
            self._loops.setdefault((each.file, each.run, each.nth), []).append(each)

    def begin(self, paths: Iterable[str]) -> None:
        """Set which files are scanned: known loops of other files may have moved to them."""
        scanned = {portable_path(path) for path in paths}
        gone = [place for place in self._loops if place[0] not in scanned]
        self._gone = {place: self._loops.pop(place) for place in gone}

    def marked(self, judged: "JudgedRun") -> "JudgedRun":
        """Return a run with its known loops marked."""
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

    def end(self, is_whole: bool) -> None:
        """Report how many known loops of the scanned files were not found again."""
        count = sum(map(len, self._loops.values())) - len(self._seen)
        if count and is_whole:
            note(f"{self._path}: {counted(count, 'known loop')} no longer found")

    def _move(self, place: _Place, loops: Sequence[KnownLoop]) -> None:
        """Replace a similar run of a file that is no longer scanned."""
        for old, known in self._gone.items():
            if old[1] == place[1] and any(a.is_like(b) for a in known for b in loops):
                self._loops[place] = self._gone.pop(old)
                return


Comparison = Union[NewBaseline, Baseline]
"""Receives the runs of a scan, to compare or to store their loops."""


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
    """Read a baseline; report an unreadable one as a wrong argument."""
    try:
        with open(path, encoding="utf-8-sig", opener=opener) as file:
            return Baseline(_read(file), path)
    except FileNotFoundError:
        raise argparse.ArgumentTypeError(
            f"{path}: no such file; create it with --write-baseline {path}"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise argparse.ArgumentTypeError(f"{path}: {reason_of(error)}") from error


def written(loops: Iterable[KnownLoop]) -> str:
    """Return the text of a baseline; the same loops give the same text."""
    lines = [_HEAD, *map(asdict, sorted(set(loops)))]
    return "".join(f"{json.dumps(line)}\n" for line in lines)


def _read(lines: Iterable[str]) -> Iterator[KnownLoop]:
    records = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not records or _parsed(*records[0]) != _HEAD:
        raise ValueError("not a baseline of this version; create one with --write-baseline")
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
        raise ValueError(f"line {number}: not a known loop; {_REMEDY}") from error
    # Loops are kept in a set, so those for human readers must be texts, too.
    texts = (loop.file, loop.run, loop.loop, loop.calls, loop.detector, loop.message)
    if not all(isinstance(text, str) for text in texts) or not isinstance(loop.nth, int):
        raise ValueError(f"line {number}: not a known loop; {_REMEDY}")
    return loop
