"""Run the work of a scan on an executor like those of `concurrent.futures`, chosen by name."""

import argparse
import os
import sys
from collections import deque
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager
from importlib import import_module
from itertools import chain, islice
from typing import Callable, ContextManager, Deque, Generator, Iterable, Iterator, Tuple, TypeVar

from .._command import CommandFailed

Engine = ContextManager[Tuple[Executor, int]]
"""Provides an executor and its number of workers, and closes the executor on exit."""
_Task = TypeVar("_Task")
_Done = TypeVar("_Done")

_AHEAD = 4
"""Pending tasks for each worker: enough to keep all busy, few enough to bound memory."""
_AT = "dask://"
_MOST_JOBS = 1_000


def add_engine(parser: argparse.ArgumentParser) -> None:
    """Add ``--jobs`` and ``--engine`` to a command."""
    parser.add_argument(
        "--jobs",
        type=_jobs,
        metavar="N",
        help="largest number of parallel workers; small work starts fewer (default: 1; with"
        " --engine the number of cores)",
    )
    parser.add_argument(
        "--engine",
        metavar="NAME",
        help="what runs the work: processes (default with --jobs), dask on this machine,"
        " dask://HOST:PORT for a Dask cluster, or MODULE:NAME of a function that takes max_workers"
        " and returns an executor",
    )


def is_parallel(args: argparse.Namespace) -> bool:
    """Whether other processes run the work."""
    return bool(args.engine) or (args.jobs or 1) > 1


def in_order(
    function: Callable[[_Task], _Done], tasks: Iterable[_Task], args: argparse.Namespace
) -> Generator[Tuple[_Task, _Done], None, None]:
    """Yield each task with the function's result, in order; only a few tasks are ahead.

    Raises:
        CommandFailed: if the chosen engine is not available or breaks down.
    """
    name = args.engine or "processes"
    tasks = iter(tasks)
    first = deque(islice(tasks, args.jobs or os.cpu_count() or 1))
    waiting: Deque[Tuple[_Task, Future[_Done]]] = deque()
    try:
        with _engine(name, max(1, len(first))) as (executor, workers):
            for task in chain(_taken(first), tasks):
                waiting.append((task, executor.submit(function, task)))
                if len(waiting) > _AHEAD * workers:
                    yield _finished(waiting)
            while waiting:
                yield _finished(waiting)
    except BrokenExecutor as error:
        raise CommandFailed(f"--engine {name}: {error}") from error


def _taken(tasks: "Deque[_Task]") -> Iterator[_Task]:
    """Yield tasks without keeping them."""
    while tasks:
        yield tasks.popleft()


def _finished(waiting: "Deque[Tuple[_Task, Future[_Done]]]") -> Tuple[_Task, _Done]:
    task, future = waiting.popleft()
    return task, future.result()


def _engine(name: str, jobs: int) -> Engine:
    if name == "processes":
        from .._engines import processes  # it takes long, and most scans need no other process

        return processes.open_engine(jobs)
    if name != "dask" and not name.startswith(_AT):
        return _made(name, jobs)
    try:
        from .._engines import dask_cluster
    except ImportError as error:
        raise CommandFailed(str(error)) from error
    return dask_cluster.open_engine(None if name == "dask" else name[len(_AT) :], jobs)


@contextmanager
def _made(name: str, jobs: int) -> Iterator[Tuple[Executor, int]]:
    """Call the named function to make another executor; it may be in the working directory."""
    sys.path.append(os.getcwd())  # last, so that it shadows no installed module
    module, _, attribute = name.partition(":")
    try:
        maker = getattr(import_module(module), attribute)
        made = maker(max_workers=jobs)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        known = "processes, dask, dask://HOST:PORT or MODULE:NAME"
        raise CommandFailed(f"--engine {name}: {error}; choose from {known}") from error
    if not hasattr(made, "submit"):
        raise CommandFailed(f"--engine {name}: it does not return an executor")
    with made as executor:
        yield executor, jobs


def _jobs(text: str) -> int:
    # Each is a process, so a slip of the finger must not start a million of them.
    is_short = text.isascii() and text.isdigit() and len(text) <= len(str(_MOST_JOBS))
    if not (is_short and 1 <= int(text) <= _MOST_JOBS):
        raise argparse.ArgumentTypeError(
            f"must be a whole number from 1 to {_MOST_JOBS:,}, got {text!r}"
        )
    return int(text)
