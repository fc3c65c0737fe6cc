"""Writing a file in one step: the old file stays until the new one is complete."""

import errno
import os
import stat
from contextlib import contextmanager
from typing import Iterator, Optional, Sequence, TextIO, Tuple

from ._regular_file import is_descriptor
from ._signals import end, signals_handled


@contextmanager
def replaced_file(path: str, within: Optional[Sequence[str]] = None) -> Iterator[TextIO]:
    """Open a file for writing; it replaces an older one when the block ends.

    Until then it has a random name in the same folder, so that no link can be planted there.
    Neither an error nor a signal that ends the process leaves it behind. The mode of an older file
    is kept; its owner and further hard links are not. Devices, pipes and open descriptors are
    written to, not replaced.

    Args:
        path: the file; if it is a link, its target is replaced.
        within: see `target_of`.

    Raises:
        OSError: if it cannot be written.
    """
    if is_written_in_place(path):
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            yield file
        return
    whole = target_of(path, within)
    mode = stat.S_IMODE(os.stat(whole).st_mode) if os.path.exists(whole) else None
    part = os.path.join(os.path.dirname(whole), f".antiloop-{os.urandom(16).hex()}")
    with signals_handled({"SIGTERM": end, "SIGHUP": end}):
        new = _created(part, 0o666 if mode is None else 0o600)
        try:
            with new:
                yield new
            if mode is not None:
                os.chmod(part, mode)
            os.replace(part, whole)
        except BaseException:
            os.unlink(part)
            raise


def is_written_in_place(path: str) -> bool:
    """Whether a path is not replaced: a device, a pipe, a folder, or what this process has open."""
    return is_descriptor(path) or (os.path.exists(path) and not os.path.isfile(path))


def target_of(path: str, within: Optional[Sequence[str]] = None) -> str:
    """Follow links to the file that a path leads to, which may be missing.

    Args:
        path: the file.
        within: folders that the target must be in, so that a repository from elsewhere cannot
            choose which file is written. None: links may lead anywhere.

    Raises:
        OSError: if the target is outside of these folders.
    """
    whole = os.path.realpath(path)
    if within is not None and not any(_is_below(whole, folder) for folder in within):
        raise OSError(errno.ELOOP, f"a link to {whole}; name that file instead", path)
    return whole


def named_folders(path: str) -> Tuple[str, ...]:
    """Return the folders that a path implies: the one it is in, and the current one."""
    return (os.path.dirname(path) or os.curdir, os.curdir)


def _is_below(path: str, folder: str) -> bool:
    above = os.path.realpath(folder)
    try:
        return os.path.commonpath([path, above]) == above
    except ValueError:  # on another drive
        return False


def _created(path: str, mode: int) -> TextIO:
    """Create a file that must not exist yet; a link of that name is not followed."""
    return open(
        path,
        "x",
        encoding="utf-8",
        newline="\n",
        opener=lambda name, flags: os.open(name, flags, mode),
    )
