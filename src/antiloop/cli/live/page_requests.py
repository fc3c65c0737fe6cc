"""Which requests the server of the live page answers, and with what."""

from hmac import compare_digest
from http.server import BaseHTTPRequestHandler
from socket import socket
from typing import ContextManager, Dict, Optional, Protocol, Tuple

from ...report.live_page import live_page
from .board import Board, Row

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


class Serving(Protocol):
    """What a request needs of its server."""

    board: Board
    token: str
    hosts: Tuple[str, ...]

    def read(self, row: Row) -> Optional[str]:
        """Return the run of a row as JSON, or None."""
        ...

    def trust(self, connection: socket) -> None:
        """Note that a client knows the token."""
        ...

    def stream(self) -> ContextManager[bool]:
        """Take one of the places for pages that are kept up to date, if one is free."""
        ...


class PageRequest(BaseHTTPRequestHandler):
    """One request: it must know the token, and come from this page or the address bar."""

    # What is inherited knows less.
    server: Serving  # type: ignore[assignment]
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
