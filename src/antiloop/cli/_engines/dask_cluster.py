"""A Dask cluster, on this machine or elsewhere."""

import logging
import re
from concurrent.futures import CancelledError, Executor
from contextlib import contextmanager
from typing import Iterator, Optional, Tuple

try:
    from distributed import Client, KilledWorker, LocalCluster
    from distributed.comm import CommClosedError
except ImportError as error:
    raise ImportError('--engine dask needs: pip install "antiloop[dask]"') from error

from .._command import CommandFailed
from .processes import interrupts_ignored

_ADDRESS = re.compile(r".+:\d{1,5}")
_TIMEOUT_S = 10
_LOCAL = {
    "threads_per_worker": 1,
    "dashboard_address": "127.0.0.1:0",  # any port, and not reachable from other machines
    "silence_logs": logging.CRITICAL,
}


@contextmanager
def open_engine(address: Optional[str], jobs: int) -> Iterator[Tuple[Executor, int]]:
    """Use the cluster at an address, or start one with this many processes; see `Engine`."""
    if address is None:
        with interrupts_ignored():
            local = LocalCluster(jobs, **_LOCAL)
        with local as cluster, _connected(cluster) as engine:
            yield engine
        return
    # With anything else the client hangs for a while before it ends.
    if not _ADDRESS.fullmatch(address):
        raise CommandFailed(f"--engine dask://{address}: write the address as dask://HOST:PORT")
    with _connected(address) as engine:
        yield engine


@contextmanager
def _connected(to: object) -> Iterator[Tuple[Executor, int]]:
    try:
        client = Client(to, timeout=_TIMEOUT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise CommandFailed(f"--engine dask://{to}: {error}") from error
    with client:
        executor = client.get_executor()
        try:
            yield executor, max(1, sum(client.nthreads().values()))
        except (CancelledError, CommClosedError, ImportError, KilledWorker) as error:
            raise CommandFailed(f"--engine dask: {error or type(error).__name__}") from error
        finally:
            executor.shutdown(wait=False)
