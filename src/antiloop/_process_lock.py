"""A lock that a forked process finds open."""

import os
from threading import RLock


class ProcessLock:
    """A lock that the thread which holds it may take again.

    A process that is forked while another thread holds a usual lock would wait for that thread,
    which does not exist there.
    """

    def __init__(self) -> None:
        self._process, self._lock = os.getpid(), RLock()

    def __enter__(self) -> None:
        if self._process != os.getpid():
            self._process, self._lock = os.getpid(), RLock()
        self._lock.acquire()

    def __exit__(self, *raised: object) -> None:
        self._lock.release()
