"""Reading one run out of a recording that is still written, to show all of it."""

import os
from threading import Lock
from typing import Any, Dict, Hashable, Optional, Tuple

from ...exceptions import TraceUnreadable
from ...health import HealthProfile
from ...report.live_page import live_run
from ...traces import read_runs


class RunReader:
    """Reads one run at a time, and remembers the last one while its file does not grow.

    Args:
        profile: rules, detector and prices.
        source: the format of the files, if it is given.
    """

    def __init__(self, profile: HealthProfile, source: Optional[str]) -> None:
        self._profile, self._source = profile, source
        self._lock = Lock()
        self._known: Tuple[Hashable, str] = (None, "")

    def read(self, row: Dict[str, Any]) -> Optional[str]:
        """Return the run of a row as JSON for the page; None if it cannot be read now."""
        path = row["source"].rpartition(":")[0]
        try:
            found = os.stat(path)
        except OSError:
            return None
        key = row["number"], found.st_ino, found.st_size, found.st_mtime_ns
        with self._lock:
            if self._known[0] != key:
                text = self._read(path, row)
                if text is None:
                    return None
                self._known = key, text
            return self._known[1]

    def _read(self, path: str, row: Dict[str, Any]) -> Optional[str]:
        try:
            for run in read_runs(path, source=self._source, on_trouble=_skip):
                if run.source == row["source"]:
                    return live_run(run, row["number"], self._profile)
        except TraceUnreadable:
            pass  # it was replaced by something else, or is gone
        return None


def _skip(what: str) -> None:
    """Say nothing: what is skipped was said when it was followed."""
