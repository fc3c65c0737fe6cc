"""Worker processes on this machine."""

import os
import signal
import time
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from threading import Thread
from typing import ContextManager, Iterator, Sequence, Tuple

from ..._signals import signals_handled

_PATIENCE_S = 5.0


@contextmanager
def open_engine(jobs: int) -> Iterator[Tuple[Executor, int]]:
    """Start this many processes; see `Engine`."""
    others = active_children()
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), _begin)
    try:
        with interrupts_ignored():
            for _ in range(jobs):
                pool.submit(int)  # each starts a process
        yield pool, jobs
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        _end([each for each in active_children() if each not in others])
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _end(workers: Sequence[BaseProcess]) -> None:
    """Wait for workers to finish their task, and end those that take too long."""
    last = time.monotonic() + _PATIENCE_S
    for worker in workers:
        # Older versions of Python never end if nothing reads what was sent.
        if not wait([worker.sentinel], max(0, last - time.monotonic())):
            worker.terminate()
            wait([worker.sentinel])


def interrupts_ignored() -> ContextManager[None]:
    """Ignore interrupts for now; processes that are started meanwhile keep ignoring them.

    Ctrl-C goes to all processes in the foreground, and only this one must act on it.
    """
    return signals_handled({"SIGINT": signal.SIG_IGN})


def _begin() -> None:  # pragma: no cover - in another process
    """Ignore interrupts also on Windows, and end with the process that began this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:  # pragma: no cover - in another process
    # A killed process cannot stop its workers, which would wait for work forever.
    parent = parent_process()
    if parent:
        parent.join()
        os._exit(1)
