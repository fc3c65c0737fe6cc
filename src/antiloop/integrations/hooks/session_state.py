"""What a hook keeps of a session between two events: one small file, locked while it is used.

The files are in the user's cache folder readable by that user only. Those of sessions that are
over are removed when a session begins.
"""

import errno
import hashlib
import json
import os
import sys
import time
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, Dict, Iterator, List, Tuple

from ...regular_file import NotRegular, what_it_is

LOCK_S = 5.0
"""How long a hook waits for another one of the same session."""
KEPT_S = 7 * 24 * 3600
"""How long a file is kept that no event has changed."""
FILES = 200
"""How many files are kept at most."""
BYTES = 4 << 20
"""How long a file may be; what is longer is forgotten."""

_RETRY_S = 0.01


class SessionState:
    """The state of one session; what is put into `value` is written when the block ends."""

    def __init__(self, value: Dict[str, Any]) -> None:
        self.value = value
        """A JSON object, empty where nothing is known."""


def cache_folder() -> str:
    """Return the folder of the user's cache in which the files are.

    Raises:
        ValueError: if the user has no home, so that it would be somewhere in the project.
    """
    if sys.platform == "darwin":
        base = os.path.expanduser(os.path.join("~", "Library", "Caches"))
    elif os.name == "nt":
        base = os.environ.get("LOCALAPPDATA", "")
    else:
        base = os.environ.get("XDG_CACHE_HOME", "")
        if not os.path.isabs(base):  # to be ignored then, by its specification
            base = os.path.expanduser(os.path.join("~", ".cache"))
    if not os.path.isabs(base):
        raise ValueError("the user has no cache folder: set HOME, or LOCALAPPDATA on Windows")
    return os.path.join(base, "antiloop", "hooks")


@contextmanager
def session_state(agent: str, session: str) -> Iterator[SessionState]:
    """Read the state of a session, and write it back; no other process does so meanwhile.

    A file that cannot be understood counts as none.

    Raises:
        OSError: if there is no such file and none can be made, or another process holds it.
        ValueError: as that of `cache_folder`.
    """
    folder = cache_folder()
    os.makedirs(folder, mode=0o700, exist_ok=True)
    name = hashlib.sha256(f"{agent}\0{session}".encode("utf-8", "surrogatepass")).hexdigest()
    path = os.path.join(folder, f"{name[:32]}.json")
    with os.fdopen(_opened(path), "r+b") as file:
        _lock(file, path)
        state = SessionState(_read(file))
        if not state.value:
            _remove_old(folder, path)
        yield state
        _write(file, state.value)


def _opened(path: str) -> int:
    kind = what_it_is(path)
    if kind is not None:
        raise NotRegular(errno.EINVAL, f"{kind}, not a file", path)
    # No one else may have put a link there.
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    return os.open(path, flags, 0o600)


def _read(file: BinaryIO) -> Dict[str, Any]:
    try:
        value = json.loads(file.read(BYTES))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _write(file: BinaryIO, value: Dict[str, Any]) -> None:
    data = json.dumps(value, separators=(",", ":")).encode("ascii")
    file.seek(0)
    file.write(data if len(data) <= BYTES else b"{}")
    file.truncate()


def _lock(file: BinaryIO, path: str) -> None:
    """Lock a file until it is closed.

    Raises:
        TimeoutError: if another process holds it all the time.
    """
    end = time.monotonic() + LOCK_S
    while not _is_locked(file):
        if time.monotonic() > end:
            raise TimeoutError(errno.ETIMEDOUT, "held by another hook of this session", path)
        time.sleep(_RETRY_S)


if os.name == "nt":  # pragma: no cover - not on this system

    def _is_locked(file: BinaryIO) -> bool:
        import msvcrt

        try:
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True

else:

    def _is_locked(file: BinaryIO) -> bool:
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def _remove_old(folder: str, own: str) -> None:
    """Remove files that no event has changed for long, and those that are too many."""
    for number, (age, path) in enumerate(_by_age(folder)):
        if path != own and (age > KEPT_S or number >= FILES):
            with suppress(OSError):
                os.unlink(path)


def _by_age(folder: str) -> List[Tuple[float, str]]:
    found, now = [], time.time()
    with os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):  # removed by another hook meanwhile
                found.append((now - entry.stat(follow_symlinks=False).st_mtime, entry.path))
    return sorted(found)
