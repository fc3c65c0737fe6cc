"""Worker processes on this machine."""

import os
import signal
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_context
from threading import current_thread, main_thread
from typing import Callable, Iterator, Optional, Tuple


@contextmanager
def open_engine(jobs: Optional[int]) -> Iterator[Tuple[Executor, int]]:
    """Start so many processes, one for each core by default; see `Engine`."""
    jobs = jobs or os.cpu_count() or 1
    others = active_children()
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), _ignore_interrupts)
    try:
        with interrupts_ignored():
            for _ in range(jobs):
                pool.submit(int)  # each starts a process
        yield pool, jobs
    except BaseException:
        for child in active_children():
            if child not in others:
                child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def made(maker: Callable[..., Executor], jobs: Optional[int]) -> Iterator[Tuple[Executor, int]]:
    """Make an executor of any other kind; see `Engine`."""
    jobs = jobs or os.cpu_count() or 1
    with maker(max_workers=jobs) as executor:
        yield executor, jobs


@contextmanager
def interrupts_ignored() -> Iterator[None]:
    """Ignore interrupts for now; processes that are started now go on ignoring them.

    Ctrl-C goes to all processes in the foreground, and this one alone is to decide what it means.
    """
    if current_thread() is not main_thread():  # it cannot be changed there, and none comes there
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _ignore_interrupts() -> None:  # pragma: no cover - in another process; Windows needs it
    signal.signal(signal.SIGINT, signal.SIG_IGN)
