"""A file of lines that many threads and processes add to at the same time."""

import errno
import logging
import os
from typing import Optional, Union

from ..._process_lock import ProcessLock
from ..._regular_file import NotRegular, opener, what_waits

_log = logging.getLogger("antiloop.traces")
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)

Path = Union[str, "os.PathLike[str]"]


class AppendedFile:
    """Adds whole lines to the end of a file, each with one write.

    Args:
        path: the file; if it is missing it is made, for its owner alone.

    Raises:
        NotRegular: for a named pipe, on which a writer would wait for a reader, and a socket.
        OSError: if it cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._name = os.fspath(path)
        kind = what_waits(self._name)
        if kind is not None:
            raise NotRegular(errno.EINVAL, f"{kind}, not a file", self._name)
        self._lock = ProcessLock()
        # A writer that was killed may have left half a line; ours must not be the other half.
        self._before = b"\n" if _ends_within_a_line(path) else b""
        self._file: Optional[int] = os.open(path, _FLAGS, 0o600)

    @property
    def is_closed(self) -> bool:
        """Whether its last line has been written."""
        return self._file is None

    def write(self, line: bytes) -> None:
        """Add a line, given without its end; what cannot be written is logged.

        Raises:
            ValueError: if the last line has been written.
        """
        with self._lock:
            if self._file is None:
                raise ValueError(f"{self._name}: this run is over; nothing more can be recorded")
            data = self._before + line + b"\n"
            self._before = b"\n"  # until the line is whole
            try:
                self._append(self._file, data)
                self._before = b""
            except OSError as error:
                _log.warning("%s: a line could not be written: %s", self._name, error)

    def close(self) -> None:
        """Let nothing more be written."""
        with self._lock:
            if self._file is None:
                raise ValueError(f"{self._name}: this run is over; nothing more can be recorded")
            os.close(self._file)
            self._file = None

    @staticmethod
    def _append(file: int, data: bytes) -> None:
        while data:  # the system takes all at once, unless the disk is nearly full
            data = data[os.write(file, data) :]


def _ends_within_a_line(path: Path) -> bool:
    try:
        with open(path, "rb", opener=opener) as file:
            file.seek(-1, os.SEEK_END)
            return file.read() != b"\n"
    except OSError:  # missing, empty, or a device
        return False
