"""A file that somebody else is writing, as lines."""

import os
from typing import BinaryIO, Iterator, List, Optional, Tuple

from ..exceptions import NoTrace, TraceUnreadable
from .source import MAX_LENGTH, is_binary, not_kept

_CHUNK = 1 << 16
_HEAD = 1 << 12
_KEPT = 64
"""Bytes before the place that was read up to; where they changed, the file begins anew."""


class GrowingFile:
    """Gives the lines of a file as they are completed, each once.

    A last line that is half written waits for its end; one of more than ``max_length`` bytes, its
    end included, is told at once, as by `open_lines`, and passed over. A file that was replaced is
    read to its end, then the one in its place; one that was cut off or written again is read anew.
    What is read each time is what was added.

    Args:
        path: the file; it may be missing, also for a while.
        max_length: of a line that is kept, in bytes.
    """

    def __init__(self, path: str, max_length: int = MAX_LENGTH) -> None:
        self.path = path
        self._max_length = max_length
        self._file: Optional[BinaryIO] = None
        self._begin()

    def new_lines(self) -> Iterator[Tuple[int, str]]:
        """Yield lines with their numbers, which begin at 1 again where the file does.

        Raises:
            TraceUnreadable: if it is there and cannot be read, or is no text (`NoTrace`).
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
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _begin(self) -> None:
        self._number = 0
        self._position = 0
        self._kept = b""
        self._half: List[bytes] = []
        self._held = 0

    def _open(self) -> Optional[BinaryIO]:
        self.close()
        try:
            self._file = open(self.path, "rb", buffering=0)  # noqa: SIM115 - kept open
        except FileNotFoundError:
            return None
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

    def _rest_of(self, file: BinaryIO) -> Iterator[Tuple[int, str]]:
        file.seek(self._position)
        for chunk in iter(lambda: file.read(_CHUNK), b""):
            if self._position == 0 and is_binary(chunk[:_HEAD]):
                raise NoTrace(f"{self.path}:1: no lines of text here that could be followed")
            self._position += len(chunk)
            self._kept = (self._kept + chunk)[-_KEPT:]
            yield from self._completed(chunk)

    def _completed(self, chunk: bytes) -> Iterator[Tuple[int, str]]:
        *whole, half = chunk.split(b"\n")
        for line in whole:
            yield from self._take(line)
            if self._held < self._max_length:
                self._number += 1
                yield self._number, b"".join(self._half).decode("utf-8-sig", "surrogateescape")
            self._half, self._held = [], 0
        yield from self._take(half)

    def _take(self, part: bytes) -> Iterator[Tuple[int, str]]:
        """Hold a part of a line; where it becomes too long, let go of it and say so, once."""
        is_kept = self._held < self._max_length
        self._held += len(part)
        if self._held < self._max_length:
            self._half.append(part)
        elif is_kept:
            self._half = []
            self._number += 1
            yield self._number, not_kept(self._max_length)
