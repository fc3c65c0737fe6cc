"""A file that somebody else is writing, as lines."""

import os
from typing import BinaryIO, Iterator, Optional

from ..._regular_file import opener
from ...exceptions import NoTrace, TraceUnreadable
from .._files.line_splitter import LineSplitter
from .._files.source import MAX_LENGTH, Line, is_binary, not_kept

_CHUNK = 1 << 16
_HEAD = 1 << 12
_KEPT = 64
"""Bytes before the place that was read up to; if they changed, the file started again."""


class GrowingFile:
    """Yields the lines of a file that are not blank as they are completed, each once.

    A last line that is half written waits for its end; one of more than ``max_length`` bytes, its
    end included, is reported at once, as by `open_lines`, and skipped. A file that was replaced is
    read to its end, then the one in its place; one that was cut off or written again is read again.
    Each time only what was added is read.

    Args:
        path: the file; it may be missing, also for a while.
    """

    def __init__(self, path: str, max_length: int = MAX_LENGTH) -> None:
        self.path = path
        self._max_length = max_length
        self._file: Optional[BinaryIO] = None
        self._rested: Optional[os.stat_result] = None
        self.times_begun = 0
        """The number of new starts; at each, the lines are counted from 1 again."""
        self._begin()

    def new_lines(self) -> Iterator[Line]:
        """Yield lines with their numbers, which begin at 1 again where the file does.

        Raises:
            TraceUnreadable: if it exists and cannot be read, or is not text (`NoTrace`).
        """
        try:
            file = self._file or self._open()
            while file is not None:
                if self._was_rewritten(file):
                    self._begin()
                yield from self._rest_of(file)
                file = self._open() if self._was_replaced(file) else None
        except OSError as error:
            raise TraceUnreadable(f"{self.path}: {error.strerror or error}") from error

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def rest(self) -> None:
        """Close the file until it is read again; if it is the same one then, go on in it."""
        if self._file is not None:
            self._rested = os.fstat(self._file.fileno())
        self.close()

    def _begin(self) -> None:
        self.times_begun += 1
        self._position = 0
        self._kept = b""
        self._lines = LineSplitter(self._max_length)

    def _open(self) -> Optional[BinaryIO]:
        self.close()
        rested, self._rested = self._rested, None
        try:
            self._file = open(  # noqa: SIM115 - kept open
                self.path, "rb", buffering=0, opener=opener
            )
        except FileNotFoundError:
            return None
        if rested is None or not os.path.samestat(rested, os.fstat(self._file.fileno())):
            self._begin()
        return self._file

    def _was_rewritten(self, file: BinaryIO) -> bool:
        if os.fstat(file.fileno()).st_size < self._position:
            return True
        file.seek(self._position - len(self._kept))
        return file.read(len(self._kept)) != self._kept

    def _was_replaced(self, file: BinaryIO) -> bool:
        try:
            return not os.path.samestat(os.stat(self.path), os.fstat(file.fileno()))
        except FileNotFoundError:
            return False

    def _rest_of(self, file: BinaryIO) -> Iterator[Line]:
        file.seek(self._position)
        for chunk in iter(lambda: file.read(_CHUNK), b""):
            if self._position == 0 and is_binary(chunk[:_HEAD]):
                raise NoTrace(f"{self.path}:1: not lines of text, so it cannot be followed")
            self._position += len(chunk)
            self._kept = (self._kept + chunk)[-_KEPT:]
            for number, line in self._lines.take(chunk):
                yield (
                    number,
                    not_kept(self._max_length)
                    if line is None
                    else line.decode("utf-8-sig", "surrogateescape"),
                )
