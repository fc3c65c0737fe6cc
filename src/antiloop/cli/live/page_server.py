"""The server of the live page: for this machine only, and for clients that know the token."""

import sys
from contextlib import contextmanager, suppress
from http.client import HTTP_PORT
from http.server import ThreadingHTTPServer
from secrets import token_urlsafe
from socket import SHUT_RDWR, socket
from threading import BoundedSemaphore, Lock, Thread
from typing import Any, Callable, Dict, Iterator, Optional

from .board import Board, Row
from .page_requests import PageRequest

ADDRESS = "127.0.0.1"
CONNECTIONS = 128
"""Connections at a time. A further one ends the oldest that has not sent the token."""
STREAMS = 64
"""Pages that are kept up to date at a time."""


class PageServer(ThreadingHTTPServer):
    """Serves the rows of a board, each request in a thread, until it is closed.

    Args:
        board: the rows.
        read: gives the run of a row as JSON, or None.
        on_trouble: called with what went wrong in a request.
        port: where to listen; 0 for any port that is free.

    Raises:
        OSError: if the port cannot be had.
    """

    daemon_threads = False
    request_queue_size = CONNECTIONS

    def __init__(
        self,
        board: Board,
        read: Callable[[Row], Optional[str]],
        on_trouble: Callable[[str], None],
        port: int = 0,
    ) -> None:
        self.board, self._read, self._on_trouble = board, read, on_trouble
        self.token = token_urlsafe(32)
        self._lock = Lock()
        self._open: Dict[socket, bool] = {}
        self._streams = BoundedSemaphore(STREAMS)
        super().__init__((ADDRESS, port), PageRequest)
        port_part = "" if self.server_port == HTTP_PORT else f":{self.server_port}"
        self.hosts = (ADDRESS + port_part, "localhost" + port_part)
        """What a request may name as its host; browsers leave out the usual port."""
        self._thread = Thread(target=self.serve_forever, args=(0.05,), name="antiloop page")
        self._thread.start()

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{self.hosts[0]}/{self.token}/"

    def read(self, row: Row) -> Optional[str]:
        """Return the run of a row as JSON, or None."""
        return self._read(row)

    def trust(self, connection: socket) -> None:
        """Note that a client knows the token."""
        with self._lock:
            self._open[connection] = True  # its request goes on, so it is still there

    @contextmanager
    def stream(self) -> Iterator[bool]:
        """Take one of the places for pages that are kept up to date, if one is free."""
        is_free = self._streams.acquire(blocking=False)
        try:
            yield is_free
        finally:
            if is_free:
                self._streams.release()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Begin a thread for a request; see `CONNECTIONS`."""
        with self._lock:
            if len(self._open) >= CONNECTIONS:
                oldest = next((each for each, known in self._open.items() if not known), request)
                _hang_up(oldest)
            self._open[request] = False
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """End a connection."""
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, *_: object) -> None:
        """Say what went wrong, unless the client is gone or does not take what it asked for."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            self._on_trouble(f"a request failed: {type(error).__name__}: {error}")

    def close(self) -> None:
        """End all connections, and wait for their threads."""
        self.board.close()
        self.shutdown()
        with self._lock:
            for each in self._open:
                _hang_up(each)
        self.server_close()
        self._thread.join()


def _hang_up(connection: socket) -> None:
    """End a connection in both directions; its thread stops waiting for it."""
    with suppress(OSError):
        connection.shutdown(SHUT_RDWR)
