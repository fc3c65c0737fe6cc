"""From a path to the runs in it."""

import logging
import os
from itertools import chain
from typing import Any, Callable, Iterable, Iterator, List, Optional, Tuple, Union

from .._checks import check_choice
from ..exceptions import NoTrace, TraceUnreadable
from ..loop_detection import ClientProfile
from ..stability import stable
from ._doubts import Doubts
from ._files.source import MAX_LENGTH, Line, open_lines
from ._own_clients import NO_OWN, OwnClients
from ._recorded_run import RecordedRun
from ._registry import EMPTY, FORMATS, TraceFormat, expected, likely, recognize
from ._shared.records import Record, records

_log = logging.getLogger("antiloop.traces")


@stable
def read_runs(
    path: "Union[str, os.PathLike[str]]",
    *,
    source: Optional[str] = None,
    on_trouble: Callable[[str], None] = _log.warning,
    profiles: Iterable[ClientProfile] = (),
) -> Iterator[RecordedRun]:
    """Yield the runs of a file one after the other, or of standard input for ``-``.

    The format is recognized by what the file holds; gzip is unpacked. If every line is a separate
    value, memory is that of one run, however long the file.

    Args:
        path: the file.
        source: a name in ``FORMATS``, to overrule recognition.
        on_trouble: called with ``"name:line: what is wrong"`` for each part that is skipped.
        profiles: clients beside the known ones; of the same name, instead of them. Where a
            recording names no client, the tools that a run uses tell.

    Raises:
        TraceUnreadable: if it holds no recorded run at all (`NoTrace`), or the file cannot be
            read (on); then after the runs that could be read.
        ValueError: if the format does not exist.
        TypeError: if the path is not one, or the format's name not a text.
    """
    if source is not None:
        check_choice("source", source, FORMATS)
    return _read_runs(os.fsdecode(path), source, on_trouble, OwnClients(profiles))


def _read_runs(
    path: str, source: Optional[str], on_trouble: Callable[[str], None], clients: OwnClients
) -> Iterator[RecordedRun]:
    with open_lines(path) as (name, lines):
        yield from read_lines(lines, name, source, on_trouble, clients)


def read_lines(
    lines: Iterable[Line],
    name: str,
    source: Optional[str],
    on_trouble: Callable[[str], None],
    clients: OwnClients = NO_OWN,
) -> Iterator[RecordedRun]:
    """Yield the runs in the lines of a file; see `read_runs`."""
    unreadable: List[TraceUnreadable] = []
    stream = records(_readable(lines, unreadable))
    try:
        trace_format, looked_at = _recognize(stream, name, source)
        yield from read_records(chain(looked_at, stream), name, trace_format, on_trouble, clients)
    except NoTrace:
        if not unreadable:
            raise
    if unreadable:  # said last, so that what was read until then is not lost
        raise unreadable[0]


def _readable(lines: Iterable[Line], unreadable: List[TraceUnreadable]) -> Iterator[Line]:
    """Yield lines as far as they can be read, and note why not further."""
    try:
        yield from lines
    except TraceUnreadable as error:
        unreadable.append(error)


def read_records(
    found: Iterable[Record],
    name: str,
    trace_format: TraceFormat,
    on_trouble: Callable[[str], None],
    clients: OwnClients = NO_OWN,
) -> Iterator[RecordedRun]:
    """Yield the runs in the records of a file; see `read_runs`."""

    def report(line: int, what: str) -> None:
        what = what or f"expected {trace_format.expected}"
        on_trouble(f"{name}:{line}: {what}; skipped")

    doubts = Doubts(name, on_trouble)
    good = doubts.records(good_records(found, trace_format, report))
    for run in trace_format.read(good, name, report):
        yield clients.read(run)
        doubts.run(run)


def _recognize(
    stream: Iterator[Record], name: str, source: Optional[str]
) -> Tuple[TraceFormat, List[Record]]:
    """Find the format of a stream, and return what was taken from it."""
    recognition = Recognition(source)
    for record in stream:
        named = recognition.look(record)
        if named is not None:
            return named, recognition.looked_at
        if recognition.is_enough:
            break
    if recognition.likely is not None:
        return recognition.likely, recognition.looked_at
    if not recognition.looked_at:
        raise NoTrace(f"{name}: {EMPTY}")
    first = recognition.looked_at[0]
    found = f" ({first.broken})" if first.broken else ""
    raise NoTrace(f"{name}:{first.line}: no tool calls here{found}; expected {expected()}")


def good_records(
    found: Iterable[Record], trace_format: TraceFormat, report: Callable[[int, str], None]
) -> Iterator[Record]:
    """Report broken records, and open lists that hold several runs."""
    for record in found:
        if record.broken:
            report(record.line, record.broken)
        elif _is_list_of_runs(record.value, trace_format):
            for item, value in enumerate(record.value):
                yield Record(record.line, value, item=item)
        else:
            yield record


def _is_list_of_runs(value: Any, trace_format: TraceFormat) -> bool:
    if not isinstance(value, list) or trace_format.recognizes(value):
        return False
    return any(map(trace_format.recognizes, value[:LOOK_AHEAD]))


LOOK_AHEAD = 100
"""The values looked at before a stream is given up as no trace, unless they are long."""


class Recognition:
    """Looks at one record after another until the format is clear.

    A conversation without tools looks alike in several formats, so others are waited for.

    Args:
        source: a name in ``FORMATS``, to overrule what is found.
    """

    def __init__(self, source: Optional[str]) -> None:
        self.looked_at: List[Record] = []
        """All records so far, those that are broken too."""
        self.likely: Optional[TraceFormat] = None
        """The format if nothing else comes; None if nothing here is of any."""
        self._named = FORMATS[source] if source else None

    @property
    def is_enough(self) -> bool:
        """Whether no more need be looked at, or can be held."""
        length = sum(record.length for record in self.looked_at)
        return len(self.looked_at) >= LOOK_AHEAD or length > MAX_LENGTH

    def look(self, record: Record) -> Optional[TraceFormat]:
        """Take the next record, and return the format once it is clear."""
        self.looked_at.append(record)
        if not record.broken:
            found = self._named or _found_in(record.value, recognize)
            if found is not None:
                return found
            self.likely = self.likely or _found_in(record.value, likely)
        return self.likely if self.is_enough else None


def _found_in(value: Any, find: Callable[[Any], Optional[TraceFormat]]) -> Optional[TraceFormat]:
    """Find the format of a value, or of the list of runs that it is."""
    found = find(value)
    if found is None and isinstance(value, list):
        return next(filter(None, map(find, value[:LOOK_AHEAD])), None)
    return found
