"""The server of the live page: who is answered, with what, and that it always ends."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from itertools import takewhile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import LoopDetector
from antiloop.cli import main
from antiloop.cli._live import board as board_module
from antiloop.cli._live import page_server
from antiloop.cli._live.board import Board
from antiloop.cli._live.page_server import PageRequest, PageServer
from antiloop.cli._live.watching import RunReader
from antiloop.health import HealthProfile
from antiloop.traces import RunRecorder

ROOT = Path(__file__).parents[2]


def row(number, **fields):
    known = {"id": f"r{number}", "status": "working", "calls": 1, "wasted_calls": 0}
    beside = {"suspicion": 0, "trouble_s": 0, "last": None, "loops": [], "source": "f:1"}
    return {"number": number, **known, **beside, **fields}


class Client:
    """Speaks to a server over a bare socket."""

    def __init__(self, server, sent=b""):
        self.socket = socket.create_connection(server.server_address, timeout=10)
        self.file = self.socket.makefile("rb")
        self.socket.sendall(sent)

    def answer(self):
        """Read the head of an answer: its status, 0 where there is none, and its headers."""
        status = self.file.readline().split()
        headers = {}
        for line in takewhile(b"\r\n".__ne__, self.file):
            name, _, value = line.decode().partition(":")
            headers[name] = value.strip()
        return int(status[1]) if status else 0, headers

    def event(self):
        """Read the next event; None where the stream ends or only a sign of life came."""
        lines = [line.decode().rstrip("\n") for line in takewhile(b"\n".__ne__, self.file)]
        fields = dict(line.split(": ", 1) for line in lines if not line.startswith(":"))
        return {**json.loads(fields["data"]), "at": fields["id"]} if "data" in fields else None

    def close(self):
        self.file.close()
        self.socket.close()


def request(server, path=None, method="GET", **headers):
    path = f"/{server.token}/" if path is None else path
    headers = {"Host": server.hosts[0], **{n.replace("_", "-"): v for n, v in headers.items()}}
    lines = [f"{name}: {one}" for name, value in headers.items() for one in value.split("|") if one]
    return "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""]).encode("latin-1")


@pytest.fixture
def begin():
    """Begin servers that are closed in the end, with all their threads."""
    servers = []

    def begin_(read=lambda row: None):
        board, told = Board(), []
        servers.append(PageServer(board, read, told.append))
        servers[-1].told = told
        return servers[-1]

    before = threading.active_count()
    yield begin_
    for server in servers:
        server.close()
    assert threading.active_count() == before
    assert [server.told for server in servers] == [[]] * len(servers)


@pytest.fixture
def server(begin):
    return begin()


@pytest.fixture
def ask(server):
    """Ask the server, and give status, headers and text of the answer."""

    def ask_(path=None, **options):
        client = Client(server, request(server, path, **options))
        status, headers = client.answer()
        text = client.file.read().decode()
        client.close()
        return status, headers, text

    return ask_


@pytest.fixture
def listen(server):
    """Open streams of events, which are closed in the end."""
    clients = []

    def listen_(**headers):
        clients.append(Client(server, request(server, f"/{server.token}/events", **headers)))
        status, _ = clients[-1].answer()
        assert status == 200
        assert clients[-1].file.readline() == b"retry: 2000\n"
        assert clients[-1].file.readline() == b"\n"
        return clients[-1]

    yield listen_
    for client in clients:
        client.close()


def test_the_page_is_there_for_who_knows_the_token(server, ask):
    server.board.show([row(0, id="<b>one</b>")])
    status, headers, text = ask()
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert "&lt;b&gt;one&lt;/b&gt;" in text
    assert "<b>one" not in text
    assert "\\u003cb\\u003eone" in text


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "*",
        "/x/",
        "/{token}x/",
        "/{short}/",
        "/\xff\xfe/",
        "/?{token}/",
        "/events",
    ],
)
def test_another_token_is_refused(server, ask, path):
    path = path.format(token=server.token, short=server.token[:-1])
    status, headers, text = ask(path)
    assert (status, text) in ((403, ""), (400, ""))
    assert server.token not in str(headers)


def test_a_request_of_the_first_version_gets_no_answer(server):
    client = Client(server, request(server).replace(b" HTTP/1.1", b""))
    assert client.file.read() == b""
    client.close()


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:{port}"},
        {"Host": "127.0.0.1"},
        {"Host": ""},
        {"Host": "127.0.0.1:{port}|evil.example"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Sec_Fetch_Site": "none|cross-site"},
    ],
)
@pytest.mark.parametrize("kind", ["", "events", "runs/0"])
def test_pages_from_elsewhere_are_refused(server, ask, headers, kind):
    headers = {name: value.format(port=server.server_port) for name, value in headers.items()}
    status, _, text = ask(f"/{server.token}/{kind}", **headers)
    assert (status, text) == (403, "")


@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_the_page_itself_may_ask_under_both_names(server, ask, site):
    for host in server.hosts:
        assert ask(Host=host, Origin=f"http://{host}", Sec_Fetch_Site=site)[0] == 200


def test_no_answer_is_kept_framed_or_given_to_others(server, ask):
    for path in (None, "/", f"/{server.token}/nothing"):
        _, headers, _ = ask(path)
        assert headers["Cache-Control"] == "no-store"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert headers["Server"].strip() == "antiloop"
        assert not {name for name in headers if name.startswith("Access-Control")}
    assert "unsafe" not in ask()[1]["Content-Security-Policy"]


@pytest.mark.parametrize("method", ["POST", "PUT", "OPTIONS", "HEAD", "CONNECT", "<script>"])
def test_nothing_can_be_done_but_read(ask, method):
    status, headers, text = ask(method=method)
    assert (status, text, headers["Content-Length"]) == (501, "", "0")


@pytest.mark.parametrize("rest", ["runs/7", "runs/", "runs/-1", "runs/²", "runs/0/0", "../", "x"])
def test_what_is_not_there_is_not_found(server, ask, rest):
    server.board.show([row(0)])
    assert ask(f"/{server.token}/{rest}")[0] in (400, 404)


def test_a_run_is_read_out_of_its_file_masked_and_escaped(begin, tmp_path, monkeypatch):
    path = tmp_path / "runs.jsonl"
    run = RunRecorder(str(path), run_id="r", mask=None)
    for _ in range(4):
        run.tool_call("login", {"password": "hunter2secret"}, "<script>pwned()</script>")
    reader = RunReader(HealthProfile(detector=LoopDetector.default()), None)
    server = begin(reader.read)
    os.mkfifo(tmp_path / "pipe")
    sources = (f"{path}:1", f"{path}:99", "none:1", f"{tmp_path / 'pipe'}:1")
    server.board.show([row(number, source=source) for number, source in enumerate(sources)])
    answers = []
    for number in (0, 0, 1, 2, 3):
        client = Client(server, request(server, f"/{server.token}/runs/{number}"))
        answers.append((client.answer()[0], client.file.read().decode()))
        client.close()
    assert [status for status, _ in answers] == [200, 200, 404, 404, 404]
    assert answers[0] == answers[1]
    assert "hunter2secret" not in answers[0][1]
    assert "<script>" not in answers[0][1]
    drawn = json.loads(answers[0][1])
    assert drawn["about"]["wasted_calls"] == 3
    assert len(json.loads(drawn["data"])["steps"]) == 4
    assert "&lt;script&gt;pwned()" in drawn["plain"]


def test_events_begin_with_all_rows_and_go_on_with_what_changes(server, listen):
    server.board.show([row(0), row(1)])
    client = listen()
    first = client.event()
    assert ([each["number"] for each in first["rows"]], first["is_whole"]) == ([0, 1], True)
    server.board.show([row(0), row(1, calls=2)])
    then = client.event()
    assert (then["rows"], then["gone"], then["is_whole"]) == ([row(1, calls=2)], [], False)
    server.board.show([row(1, calls=2)])
    assert client.event()["gone"] == [0]
    back = listen(Last_Event_ID=then["at"])
    assert back.event() == {**client_state(rows=[], gone=[0]), "at": f"{server.board.epoch}.3"}


def client_state(rows, gone, is_whole=False):
    return {"rows": rows, "gone": gone, "is_whole": is_whole}


@pytest.mark.parametrize(
    "known", ["nonsense", "other.1", "{epoch}.9", "{epoch}.x", "{epoch}.²", ""]
)
def test_who_knows_something_else_is_given_all_rows(server, listen, known):
    server.board.show([row(0)])
    client = listen(Last_Event_ID=known.format(epoch=server.board.epoch))
    assert client.event()["is_whole"]


def test_a_sign_of_life_comes_where_nothing_changes(server, listen, monkeypatch):
    monkeypatch.setattr(page_server, "HEARTBEAT_S", 0.01)
    server.board.show([row(0)])
    client = listen()
    assert client.event() is not None
    assert client.file.readline() == b": nothing new\n"


def test_fifty_clients_are_told_and_none_of_them_holds_up_the_end(server, listen):
    server.board.show([row(0)])
    clients = [listen() for _ in range(50)]
    assert all(client.event()["is_whole"] for client in clients)
    server.board.show([row(0, calls=7)])
    assert {client.event()["rows"][0]["calls"] for client in clients} == {7}
    server.close()
    assert {client.file.read() for client in clients} == {b""}


def test_more_pages_than_there_is_room_for_are_asked_to_come_later(begin, monkeypatch):
    monkeypatch.setattr(page_server, "STREAMS", 1)
    server = begin()
    server.board.show([row(0)])
    first, second = (Client(server, request(server, f"/{server.token}/events")) for _ in "ab")
    assert sorted([first.answer()[0], second.answer()[0]]) == [200, 503]
    first.close()
    second.close()


def test_a_client_that_takes_nothing_is_dropped(begin, monkeypatch):
    monkeypatch.setattr(page_server, "STREAMS", 1)
    monkeypatch.setattr(PageRequest, "timeout", 0.5)
    server = begin()
    slow = Client(server, request(server, f"/{server.token}/events"))
    assert slow.answer()[0] == 200
    server.board.show([row(0, loops=["x" * 20_000_000])])
    answers = set()
    for _ in range(10_000):
        client = Client(server, request(server, f"/{server.token}/events"))
        answers.add(client.answer()[0])
        client.close()
        if 200 in answers:
            break
    assert 200 in answers
    slow.close()


@pytest.mark.parametrize(
    "sent", [b"", b"GET", b"GET / HTTP/1.1\r\nHost:", b"\r\n", b"\xff" * 70_000]
)
def test_half_a_request_holds_up_neither_others_nor_the_end(server, ask, sent):
    client = Client(server, sent)
    assert ask()[0] == 200
    server.close()
    client.close()


def test_one_connection_too_many_ends_the_oldest_that_has_not_shown_the_token(begin, monkeypatch):
    monkeypatch.setattr(page_server, "CONNECTIONS", 3)
    server = begin()
    server.board.show([row(0)])
    known = Client(server, request(server, f"/{server.token}/events"))
    assert known.answer()[0] == 200
    strangers = [Client(server, b"GET /") for _ in range(3)]
    assert strangers[0].file.read() == b""
    page = Client(server, request(server))
    assert page.answer()[0] == 200
    for client in (known, page, *strangers):
        client.close()


def test_a_fault_of_ours_is_told_and_ends_one_answer_only(begin):
    def read(row):
        raise KeyError("\x1b[2J")

    server = begin(read)
    server.board.show([row(0)])
    client = Client(server, request(server, f"/{server.token}/runs/0"))
    assert client.file.read() == b""
    client.close()
    client = Client(server, request(server))
    assert client.answer()[0] == 200
    client.close()
    assert server.told == ["a request failed: KeyError: '\\x1b[2J'"]
    server.told.clear()


CHANGES = st.lists(st.dictionaries(st.integers(0, 5), st.integers(0, 2)), max_size=12)


@given(CHANGES, st.lists(st.booleans(), min_size=12, max_size=12), st.integers(1, 3))
def test_whoever_misses_states_still_knows_the_last_one(states, looks, remembered):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(board_module, "_GONE", remembered)
        board = Board()
    known, version = {}, -1
    for state, is_looking in zip(states, looks):
        board.show([row(number, calls=calls) for number, calls in state.items()])
        news = board.news(version, 0) if is_looking else None
        if news is None:
            continue
        version, said = news.version, json.loads(news.data)
        known = {} if said["is_whole"] else known
        known.update((each["number"], each["calls"]) for each in said["rows"])
        for number in said["gone"]:
            known.pop(number, None)
        assert known == state


def test_a_port_that_is_taken_is_2(server, tmp_path, capsys):
    assert main(["watch", str(tmp_path), "--serve", str(server.server_port)]) == 2
    assert "antiloop: --serve: Address already in use" in capsys.readouterr().err


def test_a_path_after_serve_is_named(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["watch", "--serve", str(tmp_path)])
    assert "is not a port; write the paths before --serve" in capsys.readouterr().err


@pytest.mark.skipif(os.name == "nt", reason="signals are others there")
def test_ctrl_c_ends_a_real_process_with_a_page_open(tmp_path):
    run = RunRecorder(str(tmp_path / "runs.jsonl"), run_id="r")
    for _ in range(3):
        run.tool_call("search", {"q": "cats"}, "No results.")
    process = subprocess.Popen(
        [sys.executable, "-m", "antiloop", "watch", "-q", str(tmp_path), "--serve"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    port, token = re.search(rb":(\d+)/([\w-]{43})/", process.stderr.readline()).groups()
    with socket.create_connection(("127.0.0.1", int(port)), timeout=10) as client:
        client.sendall(b"GET /%s/events HTTP/1.1\r\nHost: localhost:%s\r\n\r\n" % (token, port))
        events = client.makefile("rb")
        data = next(line for line in events if line.startswith(b"data: "))
        if b'"r"' not in data:
            data = next(line for line in events if line.startswith(b"data: "))
        assert json.loads(data[6:])["rows"][0]["status"] == "looping"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
        assert events.read() == b"\n"
        events.close()
    assert (process.returncode, err) == (1, b"")
