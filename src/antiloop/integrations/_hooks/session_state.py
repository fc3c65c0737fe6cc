"""The state of a session between two events of a hook: one small file.

The first line is the state after some event. Each further line is an event that came later and of
which nothing had to be decided: to append a line costs less than to work out the next state. The
state is written beside and renamed, so a full disk leaves the older one. Trouble with the file
never decides about a call: the guard judges with what it could read, and says what went wrong.

The files are in the user's cache folder, readable by that user only. Those of sessions that are
over are removed when a session begins. Nothing heavy is imported here: a process is started for
each call of a tool.
"""

import errno
import os
import sys
import time

from ..._regular_file import NotRegular, what_it_is
from .compact_json import UNREADABLE, dumps, loads

try:  # `hashlib` loads OpenSSL, which takes a seventh of the time that the interpreter needs
    from _blake2 import blake2b  # type: ignore[import-not-found]
except ImportError:  # another interpreter than CPython
    from hashlib import blake2b

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Tuple

LOCK_S = 5.0
"""The time that a hook waits for another one of the same session."""
KEPT_S = 7 * 24 * 3600
"""The time after which a file that no event has changed is removed."""
FILES = 200
"""The largest number of sessions that are kept."""
CAME_AT = "antiloop_came_at"
"""The field of a kept event that says when it came, in seconds since 1970."""
BYTES = 4 << 20
"""The largest size of a file: what would be longer is forgotten, and nothing more is read."""

_BEGUN_WITH = ("options", "detector", "is_plain", "profiles")
_RETRY_S = 0.01
_STATE, _LOCK, _DAMAGED = ".json", ".lock", ".damaged"
_BESIDE = (_LOCK, _DAMAGED)


class SessionFile:
    """The file of one session; ``with`` holds it against other processes."""

    def __init__(self, agent: str, session: str) -> None:
        name = f"{agent}\0{session}".encode("utf-8", "surrogatepass")
        self._name: str = blake2b(name, digest_size=16).hexdigest()
        self._lock: Optional[int] = None
        self._path = ""
        self._size = 0
        self.value: Dict[str, Any] = {}
        """The state; empty where nothing is known."""
        self.later: List[Dict[str, Any]] = []
        """The events that came after it."""
        self.trouble = ""
        """The trouble with the file; empty if there was none."""

    def __enter__(self) -> "SessionFile":
        try:
            folder = cache_folder()
            self._path = os.path.join(folder, self._name + _STATE)
            os.makedirs(folder, mode=0o700, exist_ok=True)
            # Hooks of parallel calls run at the same time, and the last to write would win.
            self._hold()
        except (OSError, ValueError) as error:
            self.trouble = reason_of(error)
        try:
            self._read()
        except OSError as error:
            self.trouble = reason_of(error)
        return self

    def __exit__(self, *raised: object) -> None:
        if self._lock is not None:
            os.close(self._lock)

    def append(self, event: "Dict[str, Any]") -> bool:
        """Note an event of which nothing had to be decided, and when it came.

        Returns:
            Whether it fits into the file; if not, a new state has to be written.
        """
        timed = {**event, CAME_AT: round(time.time(), 3)}
        # Its own line even after a line that was cut off by a full disk.
        line = b"\n" + dumps(timed).encode("ascii")
        if self._size + len(line) > BYTES:
            return False
        try:
            _write(self._path, os.O_WRONLY | os.O_APPEND, line)
        except OSError as error:
            self.trouble = reason_of(error)
        return True

    def write(self, value: "Dict[str, Any]") -> None:
        """Put a new state in the place of the old one and of all events after it."""
        is_first = not self.value
        data = dumps(value).encode("ascii")
        # More is never read, so the session begins again instead of being damaged.
        if len(data) > BYTES:
            data = dumps(begun_with(value)).encode("ascii")
        try:
            if not self._path:
                return  # there is no folder, and that has been said
            self._replace(data)
            self.value, self.later = value, []
            if is_first:
                _remove_old(self._path)
        except OSError as error:
            self.trouble = reason_of(error)

    def set_aside(self) -> None:
        """Keep a file that cannot be understood for a person to look at, and start again."""
        self.value, self.later = {}, []
        aside = self._path[: -len(_STATE)] + _DAMAGED
        try:
            os.replace(self._path, aside)
        except OSError as error:
            self.trouble = reason_of(error)
        else:
            self.trouble = f"the state was damaged and starts again; the old file is {aside}"

    def _hold(self) -> None:
        path = self._path[: -len(_STATE)] + _LOCK
        self._lock = _opened(path, os.O_RDWR | os.O_CREAT)
        end = time.monotonic() + LOCK_S
        while not _is_locked(self._lock):
            if time.monotonic() > end:
                raise TimeoutError(errno.ETIMEDOUT, "held by another hook of this session", path)
            time.sleep(_RETRY_S)

    def _read(self) -> None:
        try:
            file = _opened(self._path, os.O_RDONLY)
        except FileNotFoundError:
            return
        with os.fdopen(file, "rb") as stream:
            data = stream.read(BYTES)
        self._size = len(data)
        first, *later = data.split(b"\n")
        value = _object(first)
        if value is None:
            self.set_aside()
            return
        self.value = value
        self.later = [each for each in map(_object, later) if each]

    def _replace(self, data: bytes) -> None:
        beside = f"{self._path}.{os.getpid()}"
        try:
            _write(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, data)
            os.replace(beside, self._path)
        except OSError:
            _unlink(beside)
            raise


def begun_with(value: "Dict[str, Any]") -> "Dict[str, Any]":
    """Return the fields of a state that a session keeps from its beginning on."""
    return {name: value[name] for name in _BEGUN_WITH if name in value}


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


def _write(path: str, flags: int, data: bytes) -> None:
    """Write to a file; raises OSError also where only a part of the data fits on the disk."""
    file = _opened(path, flags)
    try:
        written = os.write(file, data)
    finally:
        os.close(file)
    if written < len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)


def _opened(path: str, flags: int) -> int:
    kind = what_it_is(path)
    if kind is not None:
        raise NotRegular(errno.EINVAL, f"{kind}, not a file", path)
    # No one else may have put a link there.
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    return os.open(path, flags, 0o600)


def _object(line: bytes) -> "Optional[Dict[str, Any]]":
    """Read a line; None for what is not a JSON object."""
    try:
        value = loads(line.decode())
    except UNREADABLE:
        return None
    return value if isinstance(value, dict) else None


def reason_of(error: Exception) -> str:
    """Return an error in words, those of the system without its number."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"


if os.name == "nt":  # pragma: no cover - not on this system

    def _is_locked(file: int) -> bool:
        import msvcrt

        try:
            os.lseek(file, 0, 0)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True

else:

    def _is_locked(file: int) -> bool:
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def _remove_old(own: str) -> None:
    """Remove files that no event has changed for long, and those that are too many."""
    ages = _by_age(os.path.dirname(own))
    for number, (age, path) in enumerate(ages):
        if path != own and (age > KEPT_S or number >= FILES):
            for each in (path, *(path[: -len(_STATE)] + beside for beside in _BESIDE)):
                _unlink(each)


def _by_age(folder: str) -> "List[Tuple[float, str]]":
    found, now = [], time.time()
    with os.scandir(folder) as entries:
        for entry in entries:
            if not entry.name.endswith(_STATE):
                continue
            try:
                found.append((now - entry.stat(follow_symlinks=False).st_mtime, entry.path))
            except OSError:
                continue  # removed by another hook meanwhile
    return sorted(found)


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return  # it is not there, or is to stay
