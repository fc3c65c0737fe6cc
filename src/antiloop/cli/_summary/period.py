"""From when on a summary counts, and the period before, as long as this one."""

import argparse
import re
from datetime import datetime, timezone
from typing import NamedTuple, Optional

from ..._amounts import iso_moment_s

_LENGTH = re.compile(r"([0-9]{1,6})([dh])")
_SECONDS = {"d": 86_400, "h": 3_600}


class Since(NamedTuple):
    """The value of ``--since``: how far back, or from when on."""

    length_s: Optional[float] = None
    time_s: Optional[float] = None

    @classmethod
    def read(cls, text: str) -> "Since":
        """Read ``7d``, ``24h`` or an ISO date; one without a zone is UTC."""
        length = _LENGTH.fullmatch(text)
        if length and int(length[1]):
            return cls(length_s=int(length[1]) * _SECONDS[length[2]])
        time_s = iso_moment_s(text.upper())
        if time_s is None:
            problem = f"must be like 7d, 24h or 2026-01-31, got {text!r}"
            raise argparse.ArgumentTypeError(problem)
        return cls(time_s=time_s)


class Period(NamedTuple):
    """A period and the one before; times are seconds since 1970."""

    before_s: float
    """The time at which the period before begins."""
    since_s: float
    until_s: float

    @classmethod
    def until(cls, now_s: float, since: Since) -> "Period":
        """Return the period that ends now.

        Raises:
            ValueError: if it begins later than now.
        """
        if since.time_s is None:
            since_s = max(0.0, now_s - (since.length_s or 0))
        else:
            since_s = max(0.0, since.time_s)
        if since_s >= now_s:
            raise ValueError(f"--since: {moment(since_s)} is not in the past")
        return cls(max(0.0, 2 * since_s - now_s), since_s, now_s)

    def place(self, time_s: float) -> Optional[str]:
        """Return the period of a time, ``now`` or ``before``; None for one earlier than both.

        A time in the future counts as now.
        """
        if time_s >= self.since_s:
            return "now"
        return "before" if time_s >= self.before_s else None


def moment(time_s: float) -> str:
    """Write a time as ISO does, in UTC.

    >>> moment(0)
    '1970-01-01T00:00:00Z'
    """
    return datetime.fromtimestamp(time_s, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
