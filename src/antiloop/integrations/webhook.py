"""Alerts: each loop is posted to a URL, without ever making an agent wait."""

import atexit
import json
import logging
import os
import re
import time
from contextlib import suppress
from email.utils import parsedate_to_datetime
from http.client import HTTPException, InvalidURL
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import Any, Callable, Dict, Mapping, Optional, Tuple, Union
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from .._checks import check_choice, check_seconds, check_threshold
from .._process_lock import ProcessLock
from .._short_repr import quoted, short_repr
from .._text.masking import safely_shown
from ..agent import AgentObserver
from ..loop_detection import LoopAction, LoopVerdict
from ..loop_detection._internal import actions_of
from ..stability import beta

__all__ = ["Webhook"]

_logger = logging.getLogger("antiloop")
_Template = Callable[[Mapping[str, Any]], Any]
"""Makes the body that is posted, as plain JSON, of what is known of a loop."""
_NOT_IN_HEADERS = re.compile(r"[\r\n]|[^\x00-\xff]")
_LONGEST_WAIT_S = 60.0
_AT_EXIT_S = 2.0


def _slack_template(loop: Mapping[str, Any]) -> Any:
    """Post a message of Slack."""
    would = "would " if loop["shadow"] else ""
    run = f" in run `{_escaped(loop['run_id'])}`" if loop["run_id"] else ""
    head = f"*antiloop* {would}{loop['action']}{run}, found by {_escaped(loop['detector'])}"
    return {"text": f"{head}\n{_escaped(loop['message'])}"}


_TEMPLATES: Dict[str, _Template] = {"json": dict, "slack": _slack_template}
"""The templates by name."""


@beta
class Webhook(AgentObserver):
    """Post each loop to a URL: a listener of a monitor, or an observer of an agent or adapter.

    Loops wait in a queue, and a thread posts them one after the other. If the queue is full, the
    newest is dropped and counted. A loop that cannot be sent is tried again, each time after twice
    the wait. If the server says that the request is wrong, it is logged and dropped. At the end of
    the process, waiting loops have two seconds; `close` waits longer.

    Args:
        url: where to, https or http. It may hold a secret, so only its host is ever shown.
        template: ``json``, ``slack``, or a function that makes the body of what is known.
        actions: the actions to post; by default all.
        headers: further headers, e.g. for a token.
        queue_size: how many loops wait at most, 1 or more.
        retries: how often a loop is sent again, 0 or more.
        backoff_s: the wait before the first retry.
        timeout_s: how long the server may take.
        on_dropped: called for each loop that is not posted, e.g. to count it.

    Raises:
        ValueError: for a URL of another kind, an unknown template or action, no action at all, a
            number out of range, or a header that cannot be sent, such as one with a line break.
        TypeError: for one action instead of a list, and for another argument of a wrong type.
    """

    def __init__(
        self,
        url: str,
        template: Union[str, _Template] = "json",
        *,
        actions: Optional[Tuple[str, ...]] = None,
        headers: Optional[Mapping[str, str]] = None,
        queue_size: int = 100,
        retries: int = 4,
        backoff_s: float = 0.5,
        timeout_s: float = 5.0,
        on_dropped: Optional[Callable[[], None]] = None,
    ) -> None:
        if not isinstance(url, str):  # which may hold a secret, whatever it is
            raise TypeError(f"url must be a text, got {type(url).__name__}")
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("url must begin with https:// or http:// and name a host")
        if not callable(template):
            check_choice("template", template, _TEMPLATES, ", or pass a function")
        for name, value, least in (("queue_size", queue_size, 1), ("retries", retries, 0)):
            check_threshold(name, value, least)
        check_seconds("backoff_s", backoff_s, or_zero=True)
        check_seconds("timeout_s", timeout_s)
        if not (on_dropped is None or callable(on_dropped)):
            raise TypeError(f"on_dropped must be a function or None, got {on_dropped!r}")
        _check_headers({} if headers is None else headers)
        self._host, self._url = parts.hostname, url
        self._template = template if callable(template) else _TEMPLATES[template]
        self._actions = None if actions is None else actions_of(actions)
        self._headers = {"Content-Type": "application/json", **(headers or {})}
        self._retries, self._backoff_s, self._timeout_s = retries, backoff_s, timeout_s
        self._queue: Queue[Optional[Mapping[str, Any]]] = Queue(queue_size)
        self._on_dropped = on_dropped
        self._closing, self._lock = Event(), ProcessLock()
        self._thread: Optional[Thread] = None
        self._process = 0
        self._queue_process = os.getpid()
        self.sent: int = 0
        """The number of loops that the server has taken."""
        self.dropped: int = 0
        """The number of loops not sent: the queue was full, or the server did not take them."""

    def __repr__(self) -> str:
        return short_repr(self, quoted(self._host))

    def __call__(self, verdict: LoopVerdict) -> None:
        """Take a verdict, as a listener of a monitor."""
        self.on_verdict(verdict.run_id, verdict)

    def on_verdict(self, run_id: str, verdict: LoopVerdict) -> None:
        """Take a verdict, as an observer; returns at once."""
        if verdict.detection is None or verdict.action is LoopAction.CONTINUE:
            return
        if self._actions is not None and verdict.action not in self._actions:
            return
        try:
            self._own_queue().put_nowait(_payload(run_id, verdict))
        except Full:
            self._drop()
            _logger.warning("%r: the queue is full, so a loop is not posted", self)
            return
        self._start()

    def close(self, timeout_s: float = 10.0) -> bool:
        """Post what still waits, without waits between retries, and say whether all is done."""
        check_seconds("timeout_s", timeout_s, or_zero=True)
        thread = self._thread
        self._closing.set()
        if thread is None or self._process != os.getpid():
            return self._own_queue().empty()
        with suppress(Full):
            self._queue.put_nowait(None)  # the thread may be waiting for something to do
        thread.join(timeout_s)
        return not thread.is_alive()

    def _drop(self) -> None:
        self.dropped += 1
        if self._on_dropped is not None:
            try:
                self._on_dropped()
            except Exception:
                _logger.exception("%r: on_dropped raised", self)

    def _own_queue(self) -> "Queue[Optional[Mapping[str, Any]]]":
        """Return the queue of this process; what waited at a fork is posted by the other one."""
        with self._lock:
            if self._queue_process != os.getpid():
                self._queue_process, self._queue = os.getpid(), Queue(self._queue.maxsize)
                self._closing = Event()
            return self._queue

    def _start(self) -> None:
        """Start the thread at the first loop, and again in a process that was forked."""
        with self._lock:
            is_known = self._process == os.getpid()
            if is_known and self._thread is not None:
                return
            if not is_known:
                atexit.register(self.close, _AT_EXIT_S)
            self._process = os.getpid()
            self._thread = Thread(target=self._work, name="antiloop-webhook", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        while True:
            try:
                loop = self._queue.get(block=not self._closing.is_set())
            except Empty:
                with self._lock:  # what comes from now on starts another thread
                    if self._queue.empty():
                        self._thread = None
                        return
                continue
            try:
                if loop is not None:
                    self._post(json.dumps(self._template(loop)).encode())
            except Exception:
                self._drop()
                _logger.exception("%r: a loop could not be posted", self)

    def _post(self, body: bytes) -> None:
        wait_s = self._backoff_s
        for attempt in range(self._retries + 1):
            trouble, is_final, asked_s = self._sent(body)
            if not trouble:
                self.sent += 1
                return
            if is_final or attempt == self._retries:
                break
            # A server that says when to come back knows better than the backoff.
            self._closing.wait(min(max(wait_s, asked_s), _LONGEST_WAIT_S))
            wait_s *= 2
        self._drop()
        _logger.warning("%r: a loop is not posted: %s", self, trouble)

    def _sent(self, body: bytes) -> Tuple[str, bool, float]:
        """Send once.

        Returns:
            What went wrong, "" for nothing; whether it will go wrong again; and after how many
            seconds the server wants to be asked again.
        """
        request = Request(self._url, body, dict(self._headers))  # noqa: S310 - checked above
        try:
            with _OPENER.open(request, timeout=self._timeout_s):
                return "", True, 0
        except HTTPError as error:
            error.close()
            is_final = error.code < 500 and error.code not in (408, 429)
            return (
                f"status {error.code}",
                is_final,
                _retry_after_s(error.headers.get("Retry-After", "")),
            )
        except (OSError, ValueError) as error:
            return f"{type(error).__name__}: {getattr(error, 'reason', error)}", False, 0
        except HTTPException as error:  # its words may repeat the URL
            return type(error).__name__, isinstance(error, InvalidURL), 0


def _retry_after_s(header: str) -> float:
    """Read the header Retry-After: seconds, or a date; 0 if it says nothing."""
    text = header.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError, IndexError):
        return 0


def _check_headers(headers: Mapping[str, str]) -> None:
    """Raise for what would fail at each loop; the value is not named, as it may be a token."""
    if not isinstance(headers, Mapping):
        raise TypeError(f"headers must be a mapping of names, got {type(headers).__name__}")
    for name, value in headers.items():
        if _NOT_IN_HEADERS.search(f"{name}{value}"):
            raise ValueError(
                f"header {name!r} has a line break or another character that cannot be sent"
            )


class _NoRedirects(HTTPRedirectHandler):
    """Refuse redirects, so that loops are posted to the configured server only."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


_OPENER = build_opener(_NoRedirects)


def _payload(run_id: str, verdict: LoopVerdict) -> Mapping[str, Any]:
    """Return what is known of a loop, masked and shortened."""
    found = verdict.detection
    calls = found.calls if found else []
    tools = dict.fromkeys(safely_shown(tool, 80) for tool, _ in calls)
    return {
        "event": "antiloop.loop",
        "run_id": safely_shown(run_id, 200),
        "detector": found.detector_name if found else "",
        "action": verdict.action.value,
        "severity": verdict.severity.value,
        "shadow": verdict.is_shadow,
        "message": safely_shown(found.summary, 800) if found else "",
        "tools": list(tools),
        "calls": [
            {"tool": safely_shown(tool, 80), "arguments": safely_shown(arguments)}
            for tool, arguments in calls
        ],
        "answer": safely_shown(found.answer) if found else "",
        "repetitions": found.repetitions if found else 0,
        "wasted_calls": found.wasted_calls if found else 0,
        "suspicion": verdict.suspicion,
    }


def _escaped(text: str) -> str:
    """Escape what Slack takes for markup."""
    plain = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return plain.replace("`", "'").replace("*", "\u2217")
