"""Alerts by webhook, against real servers on the loopback address."""

import json
import logging
import os
import socket
import time
from contextlib import contextmanager
from email.utils import formatdate
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Event, Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import Agent, AgentConfig, LoopDetector, RepeatDetector, ScriptedProvider, ToolCall
from antiloop.integrations.functions import LoopGuard
from antiloop.integrations.webhook import Webhook
from antiloop.loop_detection import Escalation, LoopAction, LoopDetection, LoopVerdict
from antiloop.testing import repeating_script


class Server:
    """Answers with these statuses, one after the other; the last one from then on."""

    def __init__(self, *statuses):
        self.statuses = statuses or (200,)
        self.got = []
        self.headers = []
        self.retry_after = ""
        self.may_answer = Event()
        self.may_answer.set()
        self.was_asked = Event()

    def answer(self, handler):
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        self.got.append(json.loads(body))
        self.headers.append(dict(handler.headers))
        self.was_asked.set()
        self.may_answer.wait(10)
        status = self.statuses[min(len(self.got), len(self.statuses)) - 1]
        handler.send_response(status)
        if 300 <= status < 400:
            handler.send_header("Location", "/elsewhere")
        if self.retry_after:
            handler.send_header("Retry-After", self.retry_after)
        handler.send_header("Content-Length", "0")
        handler.end_headers()


@contextmanager
def serving(server):
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            server.answer(self)

        def log_message(self, *args):
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    thread = Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{http.server_port}/hook/T0KEN"
    finally:
        server.may_answer.set()
        http.shutdown()
        http.server_close()
        thread.join()


@pytest.fixture
def server():
    return Server()


@pytest.fixture
def url(server):
    with serving(server) as address:
        yield address


def monitor_of(webhook, **options):
    monitor = LoopDetector([RepeatDetector(3)], Escalation(), **options).monitor()
    monitor.add_listener(webhook)
    return monitor


def loops(webhook, times=3, query="cats", **options):
    monitor = monitor_of(webhook, **options)
    for _ in range(times):
        monitor.record_call("search", {"query": query}, "no results")


def test_a_loop_is_posted_as_json(server, url):
    webhook = Webhook(url, headers={"Authorization": "Bearer abc"})
    loops(webhook)
    assert webhook.close()
    (told,) = server.got
    assert (told["event"], told["action"], told["detector"]) == (
        "antiloop.loop",
        "notify",
        "repeat",
    )
    assert (told["tools"], told["repetitions"], told["wasted_calls"]) == (["search"], 3, 2)
    assert (told["shadow"], told["suspicion"], told["severity"]) == (False, 1.0, "warning")
    assert server.headers[0]["Authorization"] == "Bearer abc"
    assert (webhook.sent, webhook.dropped) == (1, 0)


def test_details_of_a_custom_detector_may_be_anything(server, url):
    webhook = Webhook(url)
    found = LoopDetection("mine", "It goes on.", {"calls": 3})
    webhook(LoopVerdict(LoopAction.STOP, found))
    assert webhook.close()
    assert (server.got[0]["detector"], server.got[0]["tools"]) == ("mine", [])


def test_each_action_is_posted_in_order(server, url):
    webhook = Webhook(url)
    loops(webhook, 5)
    assert webhook.close()
    assert [told["action"] for told in server.got] == ["notify", "block", "stop"]


def test_only_the_actions_that_are_wanted_are_posted(server, url):
    webhook = Webhook(url, actions=("stop",))
    loops(webhook, 5)
    assert webhook.close()
    assert [told["action"] for told in server.got] == ["stop"]


def test_slack_gets_words_that_cannot_be_markup(server, url):
    webhook = Webhook(url, "slack")
    monitor = monitor_of(webhook, shadow=True)
    for _ in range(3):
        monitor.record_call("<!channel> *now*", {}, "no results")
    assert webhook.close()
    (told,) = server.got
    assert told["text"].startswith("*antiloop* would notify, found by repeat\n")
    assert "&lt;!channel&gt;" in told["text"]
    assert "<!channel>" not in told["text"]
    assert "*now*" not in told["text"]
    assert "\u2217now\u2217" in told["text"]
    assert "\\" not in told["text"]


def test_a_template_of_ones_own_makes_the_body(server, url):
    webhook = Webhook(url, lambda loop: {"summary": loop["message"], "team": "agents"})
    loops(webhook)
    assert webhook.close()
    assert server.got[0]["team"] == "agents"


def test_a_template_that_raises_is_logged_and_the_next_loop_is_posted(server, url, caplog):
    def clumsy(loop):
        if loop["action"] == "notify":
            raise KeyError("oops")
        return dict(loop)

    webhook = Webhook(url, clumsy)
    with caplog.at_level(logging.ERROR, "antiloop"):
        loops(webhook, 4)
        assert webhook.close()
    assert "oops" in caplog.text
    assert ([told["action"] for told in server.got], webhook.dropped) == (["block"], 1)


def test_secrets_are_masked(server, url):
    webhook = Webhook(url)
    secret = "sk-proj-" + "a1B2c3D4" * 6
    monitor = monitor_of(webhook)
    for _ in range(3):
        monitor.record_call(f"get {secret}", {"key": secret}, "no")
    webhook.on_verdict(secret, monitor.record_call(f"get {secret}", {"key": secret}, "no"))
    assert webhook.close()
    assert len(server.got) == 3
    assert secret not in json.dumps(server.got)


def test_an_agent_and_an_adapter_take_it_as_an_observer(server, url):
    webhook = Webhook(url)
    detector = LoopDetector([RepeatDetector(3)], Escalation(("stop",)))
    script = repeating_script(ToolCall("look", {"at": "a"}), times=5)
    config = AgentConfig(loop_detector=detector, observers=[webhook])

    def look(at: str) -> str:
        return "nothing"

    Agent([look], ScriptedProvider(script), config).run("Go")
    shadow = LoopDetector([RepeatDetector(3)], Escalation(("stop",)), shadow=True)
    guard = LoopGuard(shadow, observers=[webhook], run_id="r1")
    guarded = guard(look)
    for _ in range(3):
        guarded("a")
    assert webhook.close()
    assert [(told["action"], told["shadow"]) for told in server.got] == [
        ("stop", False),
        ("stop", True),
    ]
    assert (bool(server.got[0]["run_id"]), server.got[1]["run_id"]) == (True, "r1")


@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_server_in_trouble_is_asked_again(status):
    server = Server(status, status, 200)
    with serving(server) as url:
        webhook = Webhook(url, backoff_s=0.001)
        loops(webhook)
        assert webhook.close()
    assert (len(server.got), webhook.sent, webhook.dropped) == (3, 1, 0)


@pytest.mark.parametrize(
    ("header", "least", "most"),
    [
        ("7", 7, 7),
        (formatdate(time.time() + 86_400, usegmt=True), 60, 60),
        ("999999999999", 60, 60),
        *[(text, 0.001, 0.001) for text in ("", "soon", "-3", "Tue, 01 Jan 2008 10:00:00 GMT")],
    ],
    ids=["seconds", "a date", "too long", "nothing", "words", "less than none", "long ago"],
)
def test_a_server_that_says_when_to_come_back_is_believed(header, least, most, monkeypatch):
    server = Server(429, 200)
    server.retry_after = header
    with serving(server) as url:
        webhook = Webhook(url, backoff_s=0.001)
        waited = []
        monkeypatch.setattr(webhook._closing, "wait", waited.append)
        loops(webhook)
        assert webhook.close()
    assert webhook.sent == 1
    assert len(waited) == 1
    assert least <= waited[0] <= most


def test_who_wants_to_know_hears_of_what_is_dropped(caplog):
    heard = []

    def clumsy():
        heard.append(1)
        raise RuntimeError("dropped it again")

    with serving(Server(404)) as url:
        webhook = Webhook(url, on_dropped=clumsy)
        loops(webhook)
        assert webhook.close()
    assert (webhook.dropped, heard) == (1, [1])
    assert "dropped it again" in caplog.text


@pytest.mark.parametrize("status", [400, 404, 302])
def test_a_request_that_is_refused_is_not_sent_again(status, caplog):
    server = Server(status)
    with serving(server) as url, caplog.at_level(logging.WARNING, "antiloop"):
        webhook = Webhook(url, backoff_s=0.001)
        loops(webhook)
        assert webhook.close()
    assert (len(server.got), webhook.sent, webhook.dropped) == (1, 0, 1)
    assert f"status {status}" in caplog.text
    assert "T0KEN" not in caplog.text


def test_a_dead_server_costs_the_loops_and_nothing_else(caplog):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        webhook = Webhook(
            f"http://127.0.0.1:{unused.getsockname()[1]}/T0KEN", retries=2, backoff_s=0.001
        )
        with caplog.at_level(logging.WARNING, "antiloop"):
            loops(webhook, 5)
            assert webhook.close()
    assert (webhook.sent, webhook.dropped) == (0, 3)
    assert "refused" in caplog.text
    assert "T0KEN" not in caplog.text


def test_a_server_that_answers_nonsense_is_asked_again(caplog):
    class Nonsense(BaseRequestHandler):
        def handle(self):
            asked.append(self.request.recv(65_536))
            self.request.sendall(b"hello\r\n\r\n")

    asked = []
    with ThreadingTCPServer(("127.0.0.1", 0), Nonsense) as nonsense:
        thread = Thread(target=nonsense.serve_forever, args=(0.01,))
        thread.start()
        webhook = Webhook(
            f"http://127.0.0.1:{nonsense.server_address[1]}/T0KEN", retries=2, backoff_s=0.001
        )
        with caplog.at_level(logging.WARNING, "antiloop"):
            loops(webhook)
            assert webhook.close()
        nonsense.shutdown()
        thread.join()
    assert (len(asked), webhook.dropped) == (3, 1)
    assert "a loop is not posted: BadStatusLine" in caplog.text
    assert "T0KEN" not in caplog.text


def test_a_url_that_cannot_be_asked_stays_secret(caplog):
    webhook = Webhook("http://127.0.0.1/with a space/T0KEN")
    with caplog.at_level(logging.WARNING, "antiloop"):
        loops(webhook)
        assert webhook.close()
    assert (webhook.sent, webhook.dropped) == (0, 1)
    assert "a loop is not posted: InvalidURL" in caplog.text
    assert "T0KEN" not in caplog.text


def test_a_slow_server_never_makes_an_agent_wait(server, url, caplog):
    server.may_answer.clear()
    webhook = Webhook(url, queue_size=2)
    loops(webhook, query="first")
    assert server.was_asked.wait(10)
    with caplog.at_level(logging.WARNING, "antiloop"):
        for number in range(5):
            loops(webhook, query=str(number))
    assert webhook.dropped == 3
    assert "the queue is full" in caplog.text
    server.may_answer.set()
    assert webhook.close()
    assert webhook.sent == len(server.got) == 3


def test_a_server_that_never_answers_is_given_up(server, url):
    server.may_answer.clear()
    webhook = Webhook(url, timeout_s=0.05, retries=0)
    loops(webhook)
    assert webhook.close()
    assert (webhook.sent, webhook.dropped) == (0, 1)


def test_a_template_that_hangs_never_makes_an_agent_wait(caplog):
    is_asked, may_answer = Event(), Event()

    def hang(loop):
        is_asked.set()
        may_answer.wait(30)
        raise RuntimeError("nothing to post")

    webhook = Webhook("https://127.0.0.1:9", hang, queue_size=2)
    loops(webhook)
    assert is_asked.wait(10)
    for number in range(5):
        loops(webhook, query=str(number))
    assert webhook.dropped == 3
    assert not webhook.close(timeout_s=0.01)
    may_answer.set()
    assert webhook.close()
    assert (webhook.sent, webhook.dropped) == (0, 6)


def test_what_waits_at_a_fork_is_posted_by_one_process(server, url, monkeypatch):
    def found(tool):
        monitor = monitor_of(webhook)
        for _ in range(3):
            monitor.record_call(tool, {}, "no results")

    server.may_answer.clear()
    webhook = Webhook(url)
    found("sent")
    assert server.was_asked.wait(10)
    found("waits")
    server.was_asked.clear()
    monkeypatch.setattr(os, "getpid", lambda: -1)  # as in a process that was forked
    found("child")
    assert server.was_asked.wait(10)
    server.may_answer.set()
    assert webhook.close()
    assert [told["tools"] for told in server.got] == [["sent"], ["child"]]


def test_after_it_was_closed_a_further_loop_is_posted_still(server, url):
    webhook = Webhook(url)
    loops(webhook)
    assert webhook.close()
    loops(webhook)
    assert webhook.close()
    assert webhook.sent == 2


def test_one_that_waits_for_work_closes_at_once(server, url):
    webhook = Webhook(url)
    loops(webhook)
    assert server.was_asked.wait(10)
    assert webhook.close(timeout_s=10)
    assert Webhook(url).close(timeout_s=0)


def test_only_the_host_is_shown():
    assert repr(Webhook("https://hooks.slack.com/services/T0/B0/s3cr3t")) == (
        "Webhook('hooks.slack.com')"
    )


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (["file:///etc/passwd"], {}, "url must begin with https"),
        (["https://"], {}, "and name a host"),
        (["https://x", "teams"], {}, "unknown template 'teams'; choose from json, slack"),
        (["https://x"], {"queue_size": 0}, "queue_size must be a whole number, 1 or more, got 0"),
        (["https://x"], {"retries": -1}, "retries must be a whole number, 0 or more, got -1"),
        (["https://x"], {"actions": ("shout",)}, "unknown action 'shout'; choose from notify"),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments, options, words):
    with pytest.raises(ValueError, match=words):
        Webhook(*arguments, **options)


@given(st.text("ab \n\r\té…", max_size=6), st.text("ab \n\r\té…", max_size=6))
def test_a_header_that_cannot_be_sent_is_refused_without_its_value(before, after):
    name, value = "Authorization", f"{before}T0KEN{after}"
    connection = HTTPConnection("127.0.0.1")
    connection.putrequest("POST", "/")
    try:
        connection.putheader(name, value)
    except ValueError:
        with pytest.raises(ValueError, match="header 'Authorization' has a line") as caught:
            Webhook("https://x", headers={name: value})
        assert "T0KEN" not in str(caught.value)
    else:
        if "\n" not in value and "\r" not in value:
            Webhook("https://x", headers={name: value})


def test_one_action_is_no_list_of_actions():
    with pytest.raises(TypeError, match="actions must be a list of actions, got 'stop'"):
        Webhook("https://x", actions="stop")
