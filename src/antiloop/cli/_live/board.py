"""The rows of the live page, and which of them a client does not know yet."""

from json import dumps
from secrets import token_hex
from threading import Condition
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Tuple

from ..._latest import Latest

SessionRow = Dict[str, Any]
_GONE = 1_000
"""Removed rows that are remembered; a client that missed more of them gets all rows."""


class News(NamedTuple):
    """Hold the rows that a client does not know yet."""

    version: int
    """With this it is known."""
    data: str
    """The rows as JSON; it holds no line break."""


class Board:
    """Hold the latest state of each row; a slow page misses states and delays nothing."""

    def __init__(self) -> None:
        self.epoch = token_hex(4)
        """Identifies this board among those of other processes."""
        self.is_closed = False
        self._version = 0
        self._rows: Dict[int, Tuple[int, SessionRow]] = {}
        self._gone: Latest[int, int] = Latest(_GONE)
        self._forgotten = 0
        self._made: Dict[int, News] = {}
        self._condition = Condition()

    def show(self, rows: Iterable[SessionRow]) -> None:
        """Take all rows as they are now; each has a ``number`` that stays its."""
        now = {row["number"]: row for row in rows}
        with self._condition:
            version, known = self._version + 1, self._rows
            gone = known.keys() - now.keys()
            changed = [n for n, row in now.items() if n not in known or known[n][1] != row]
            if not gone and not changed:
                return
            for number in gone:
                del known[number]
                self._note_gone(number, version)
            for number in changed:
                known[number] = version, now[number]
                self._gone.pop(number, None)
            self._version = version
            self._made.clear()
            self._condition.notify_all()

    def rows(self) -> List[SessionRow]:
        with self._condition:
            return [row for _, row in self._rows.values()]

    def row(self, number: int) -> Optional[SessionRow]:
        """Return a row; None if there is none."""
        with self._condition:
            return self._rows.get(number, (0, None))[1]

    def news(self, since: int, timeout_s: float) -> Optional[News]:
        """Wait for news, but not for long; None if there were none.

        Args:
            since: the version that is known; -1 for none.
            timeout_s: how long to wait.
        """
        with self._condition:
            self._condition.wait_for(lambda: self.is_closed or since != self._version, timeout_s)
            if self.is_closed or since == self._version:
                return None
            if since not in self._made:
                self._made[since] = News(self._version, self._data(since))
            return self._made[since]

    def close(self) -> None:
        """End all waiting for news."""
        with self._condition:
            self.is_closed = True
            self._condition.notify_all()

    def _data(self, since: int) -> str:
        is_whole = not self._forgotten <= since <= self._version
        after = -1 if is_whole else since
        rows = [row for version, row in self._rows.values() if version > after]
        gone = [] if is_whole else [n for n, version in self._gone.items() if version > since]
        return dumps({"rows": rows, "gone": gone, "is_whole": is_whole}, separators=(",", ":"))

    def _note_gone(self, number: int, version: int) -> None:
        if self._gone.is_full:
            self._forgotten = max(self._forgotten, next(iter(self._gone.values())))
        self._gone[number] = version
