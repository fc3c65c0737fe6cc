"""The server of the live page: for this machine only, and for clients that know the token."""

import os
import re
import sys
from contextlib import contextmanager, suppress
from hmac import compare_digest
from http.client import HTTP_PORT
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from secrets import token_urlsafe
from socket import SHUT_RDWR, socket
from threading import BoundedSemaphore, Lock, Thread
from typing import Any, Callable, Dict, Iterator, Optional

from ...report._internal import live_page
from .board import Board, SessionRow

STALLED_S = 10.0
"""Seconds after which a client that sends or takes nothing is dropped."""
HEARTBEAT_S = 15.0
"""Seconds between two signs of life where nothing changes."""
_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_NOTHING = "default-src 'none'; frame-ancestors 'none'"


VARIABLE = "ANTILOOP_TOKEN"
"""The environment variable of a token that stays, for a page behind a proxy."""
_TOKEN = re.compile("[A-Za-z0-9_-]{32,256}")


def token_of_environment() -> str:
    """Return the token that the environment names; empty if it names none.

    Raises:
        ValueError: if it is short, so that it could be guessed, or does not fit into an address.
    """
    token = os.environ.get(VARIABLE, "")
    if token and not _TOKEN.fullmatch(token):
        raise ValueError(f"{VARIABLE} must be 32 to 256 letters, digits, - or _")
    return token


class PageRequest(BaseHTTPRequestHandler):
    """One request: it must know the token, and come from this page or the address bar."""

    # What is inherited knows less.
    server: "PageServer"
    timeout = STALLED_S
    server_version, sys_version = "antiloop", ""

    def do_GET(self) -> None:
        """Answer with the page, a run, or events without end."""
        if self.request_version == "HTTP/0.9":  # it has no headers, so no policy either
            return
        token, slash, rest = self.path[1:].partition("/")
        if not self._is_local() or not compare_digest(token.encode(), self.server.token.encode()):
            self.send_error(403)
            return
        self.server.trust(self.connection)
        kind, _, number = rest.partition("/")
        if slash and not rest:
            page, policy = live_page(self.server.board.rows())
            self._answer(page, "text/html", f"{policy}; frame-ancestors 'none'")
        elif rest == "events":
            self._events()
        elif kind == "runs" and number.isascii() and number.isdigit() and len(number) < 10:
            self._run(int(number))
        else:
            self.send_error(404)

    def send_error(self, code: int, *_: object, **__: object) -> None:
        """Answer with a status alone: nothing of a request is repeated."""
        self._begin(code, {"Content-Length": "0", "Content-Security-Policy": _NOTHING})

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as inherited
        """Log nothing: the terminal shows the sessions."""

    def _is_local(self) -> bool:
        """Whether a request names this server and is not made by a page from elsewhere.

        The name is checked since a foreign page may give its own name this address (DNS rebinding).
        """
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1 or hosts[0] not in self.server.hosts:
            return False
        origins = self.headers.get_all("Origin", [])
        sites = self.headers.get_all("Sec-Fetch-Site", [])
        return all(each == f"http://{hosts[0]}" for each in origins) and all(
            each in ("same-origin", "none") for each in sites
        )

    def _begin(self, code: int, headers: Dict[str, str]) -> None:
        self.close_connection = True
        self.send_response(code)
        for name, value in {**_HEADERS, **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def _answer(self, text: str, kind: str, policy: str = _NOTHING) -> None:
        body = text.encode()
        headers = {"Content-Length": str(len(body)), "Content-Security-Policy": policy}
        self._begin(200, {"Content-Type": f"{kind}; charset=utf-8", **headers})
        self.wfile.write(body)

    def _run(self, number: int) -> None:
        row = self.server.board.row(number)
        text = row and self.server.read(row)
        if text:
            self._answer(text, "application/json")
        else:
            self.send_error(404)

    def _events(self) -> None:
        with self.server.stream() as is_free:
            if not is_free:
                self.send_error(503)
                return
            self._begin(
                200, {"Content-Type": "text/event-stream", "Content-Security-Policy": _NOTHING}
            )
            self._send("retry: 2000\n\n")
            self._send_news(self._known())

    def _send_news(self, known: int) -> None:
        board = self.server.board
        while not board.is_closed:
            news = board.news(known, HEARTBEAT_S)
            if news is None:
                self._send("" if board.is_closed else ": nothing new\n\n")
            else:
                known = news.version
                self._send(f"id: {board.epoch}.{known}\nevent: rows\ndata: {news.data}\n\n")

    def _known(self) -> int:
        """Read what a client that comes back knows already; -1 for nothing."""
        epoch, _, version = self.headers.get("Last-Event-ID", "").partition(".")
        is_known = epoch == self.server.board.epoch and version.isascii() and version.isdigit()
        return int(version) if is_known and len(version) < 16 else -1

    def _send(self, text: str) -> None:
        self.wfile.write(text.encode())


ADDRESS = "127.0.0.1"
CONNECTIONS = 128
"""Connections at a time. A further one ends the oldest that has not sent the token."""
STREAMS = 64
"""Pages that are kept up to date at a time."""


class PageServer(ThreadingHTTPServer):
    """Serves the rows of a board, each request in a thread, until it is closed.

    Args:
        read: gives the run of a row as JSON, or None.
        on_trouble: called with what went wrong in a request.
        port: where to listen; 0 for any port that is free.
    """

    daemon_threads = False
    request_queue_size = CONNECTIONS

    def __init__(
        self,
        board: Board,
        read: Callable[[SessionRow], Optional[str]],
        on_trouble: Callable[[str], None],
        port: int = 0,
    ) -> None:
        self.board, self.read, self._on_trouble = board, read, on_trouble
        self.token = token_of_environment() or token_urlsafe(32)
        self._lock = Lock()
        self._open: Dict[socket, bool] = {}
        self._streams = BoundedSemaphore(STREAMS)
        super().__init__((ADDRESS, port), PageRequest)
        port_part = "" if self.server_port == HTTP_PORT else f":{self.server_port}"
        self.hosts = (ADDRESS + port_part, "localhost" + port_part)
        """A request may name one of these as its host; browsers leave out the usual port."""
        self._thread = Thread(target=self.serve_forever, args=(0.05,), name="antiloop page")
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://{self.hosts[0]}/{self.token}/"

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
