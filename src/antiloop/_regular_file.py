"""Opening a file, without waiting forever for a pipe or a device.

Nothing is imported here but what the interpreter has loaded already, as the hook for Claude Code
uses it.
"""

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional, Tuple

_DESCRIPTORS = ("/dev/fd/", "/proc/self/fd/")
_STREAMS = ("/dev/stdin", "/dev/stdout", "/dev/stderr")
_KINDS: "Tuple[Tuple[int, str], ...]" = (
    (stat.S_IFIFO, "a named pipe"),
    (stat.S_IFSOCK, "a socket"),
    (stat.S_IFCHR, "a device"),
    (stat.S_IFBLK, "a device"),
)
_WAITING = ("a named pipe", "a socket")


class NotRegular(OSError):
    """A path leads to a pipe, a socket or a device."""


def is_descriptor(path: "str") -> bool:
    """Whether a path names a file that this process has open, such as ``<(...)`` of a shell."""
    return path in _STREAMS or path.startswith(_DESCRIPTORS)


def what_it_is(path: str) -> "Optional[str]":
    """Return what is at a path; None for a regular file, a folder, or nothing.

    >>> what_it_is("/dev/null"), what_it_is("/dev"), what_it_is("/dev/nothing")
    ('a device', None, None)
    """
    try:
        return _irregular(os.stat(path).st_mode)
    except FileNotFoundError:
        return "a link to nothing" if os.path.islink(path) else None
    except OSError as error:
        return error.strerror


def what_waits(path: str) -> "Optional[str]":
    """Return what is at a path if a writer would wait there for a reader; None otherwise.

    A device may be written to, such as ``/dev/null``, and so may what this process has open.

    >>> what_waits("/dev/null"), what_waits("/dev/nothing")
    (None, None)
    """
    kind = None if is_descriptor(path) else what_it_is(path)
    return kind if kind in _WAITING else None


def opener(path: str, flags: int) -> int:
    """Open a regular file, or what this process has open; for the ``opener`` of `open`.

    Raises:
        NotRegular: for a named pipe, on which a reader would wait for a writer, and the like.
        OSError: if it cannot be opened.
    """
    if is_descriptor(path):
        return os.open(path, flags)
    _check(path, os.stat(path).st_mode)  # before it is opened: that can do something to a device
    file = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    try:
        _check(path, os.fstat(file).st_mode)  # it may have been replaced in between
    except BaseException:
        os.close(file)
        raise
    return file


def _check(path: str, mode: int) -> None:
    kind = _irregular(mode)
    if kind is not None:
        raise NotRegular(errno.EINVAL, f"{kind}, not a file", path)


def _irregular(mode: int) -> "Optional[str]":
    return next((name for kind, name in _KINDS if stat.S_IFMT(mode) == kind), None)
