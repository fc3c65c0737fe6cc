"""A scripted model on loopback that real coding clients take for their provider's.

Each run of a client has its own address, so the server knows which scenario it plays. How far a
conversation is, the server counts itself: after a compaction the request does not tell it.
"""

import gzip
import itertools
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Dict, Iterator, List, NamedTuple, Tuple

from model_forms import FORMS, Asked, Reply, has_calls
from scenarios import SUBTASK, SUMMARY, Scenario, Turn, as_calls

FULL = 990_000
"""What the usage says of a context that is full."""
FEW = 100
FILLED_AFTER = 9

_COMPACTING = re.compile(
    r"create a (?:detailed|structured|handoff) summary|CONTEXT CHECKPOINT COMPACTION"
    r"|conversation history into|Provide a detailed prompt for continuing|<state_snapshot>"
    r"|create a new anchored summary|update the anchored summary",
    re.IGNORECASE,
)
_SAID = {
    "notice": "[antiloop] Notice",
    "refused": "[antiloop] Refused",
    "stopped": "Stopped: the agent was stuck in a loop",
    "Gemini's own notice": "Potential loop detected",
}
OF_ANTILOOP = ("notice", "refused", "stopped")
_ASIDE = (
    '{"title": "t", "isNewTopic": false, "next_speaker": "user", "reasoning": "r",'
    ' "complexity_reasoning": "r", "complexity_score": 50}'
)
"""An answer to questions of a program itself: for a title, who speaks next, how hard a task is."""


class Round(NamedTuple):
    """A request of an agent, and what it was answered."""

    agent: str
    number: int
    """How many replies with calls the agent had before."""
    told: Tuple[str, ...]
    """What it had just read: a notice, a refusal, a stop, or what the client says of loops."""
    reply: Reply

    @property
    def calls(self) -> int:
        return sum(not isinstance(part, str) for part in self.reply)


class Play:
    """One run of a client against a scenario."""

    def __init__(self, scenario: Scenario, folder: str) -> None:
        self._scenario = scenario
        self._folder = folder
        self._lock = threading.Lock()
        self._heard: Dict[str, str] = {}
        self._since: Dict[str, int] = {}
        self.rounds: List[Round] = []
        self.compactions = 0
        self.asides: List[str] = []
        """How questions of the client itself began: for a title, a summary, or who speaks next."""
        self.offered: List[str] = []
        """The tools that the client offered first."""

    @property
    def is_cut_off(self) -> bool:
        """Whether the client never reported the results of the last calls."""
        return bool(self.rounds) and self.rounds[-1].calls > 0

    def reply(self, asked: Asked) -> Tuple[Reply, int]:
        """Return what the model says, and how many tokens it says that it was given."""
        with self._lock:
            if not asked.tools:
                self.asides.append(f"{asked.system[:200]} ... {asked.latest[:200]}")
            if _COMPACTING.search(asked.latest[-20_000:] + asked.system[:8_000]):
                self.compactions += 1
                self._since.clear()
                is_gemini = "<state_snapshot>" in asked.system
                return [SUMMARY.replace("summary", "state_snapshot") if is_gemini else SUMMARY], FEW
            if not asked.tools:
                return [_ASIDE], FEW
            return self._said(asked)

    def _said(self, asked: Asked) -> Tuple[Reply, int]:
        self.offered = self.offered or sorted(asked.tools)
        agent = "sub" if asked.holds(SUBTASK) else "main"
        self._heard[agent] = self._heard.get(agent, "") + "\n" + asked.latest
        number = self._since.get(agent, 0)
        is_compacted = self.compactions > 0
        turn = Turn(number, asked, agent == "sub", is_compacted, self._heard[agent])
        reply = as_calls(self._scenario.says(turn), turn, self._folder)
        told = tuple(kind for kind, words in _SAID.items() if words in asked.latest)
        before = sum(each.agent == agent and each.calls > 0 for each in self.rounds)
        self.rounds.append(Round(agent, before, told, reply))
        if has_calls(reply):
            self._since[agent] = number + 1
        is_full = self._scenario.fills and not is_compacted and number >= FILLED_AFTER - 1
        return reply, FULL if is_full else FEW


class ScriptedModel(ThreadingHTTPServer):
    """The server; every play has an address."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.plays: Dict[str, Play] = {}
        self.numbers = itertools.count(1)
        self.unknown: List[str] = []
        """Paths that nothing is known of."""
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def address(self, name: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/{name}"

    def close(self) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ScriptedModel

    def log_message(self, *words: Any) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        self._send(b"", "text/plain")

    def do_GET(self) -> None:
        """List the models, whatever is asked."""
        models = [{"id": name, "object": "model"} for name in ("scripted", "gpt-5.1-codex")]
        self._send_json({"object": "list", "data": models, "models": []})

    def do_POST(self) -> None:
        body = self._body()
        path = self.path.partition("?")[0]
        name = path.split("/")[1]
        form = next((form for end, form in FORMS.items() if path.endswith(end)), None)
        if path.endswith(("count_tokens", ":countTokens")):
            self._send_json({"input_tokens": FEW, "totalTokens": FEW})
        elif form is None or name not in self.server.plays:
            self.server.unknown.append(path)
            self._send_json({})
        else:
            asked = form.read(body)
            reply, tokens = self.server.plays[name].reply(asked)
            model = str(body.get("model") or "scripted")
            whole = form.whole(reply, f"{next(self.server.numbers):06}", tokens, model)
            if asked.is_streamed or path.endswith(":streamGenerateContent"):
                self._stream(form.streamed(whole))
            else:
                self._send_json(whole)

    def _body(self) -> Any:
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            data = b"".join(iter(self._chunk, b""))
        else:
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("content-encoding") == "gzip":
            data = gzip.decompress(data)
        try:
            return json.loads(data or b"{}")
        except ValueError:
            return {}

    def _chunk(self) -> bytes:
        size = int(self.rfile.readline().strip() or b"0", 16)
        data = self.rfile.read(size)
        self.rfile.readline()
        return data

    def _send_json(self, value: Any) -> None:
        self._send(json.dumps(value).encode(), "application/json")

    def _send(self, data: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, events: Iterator[Any]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for event in events:
            if isinstance(event, str):
                text = f"data: {event}\n\n"
            else:
                name = f"event: {event['type']}\n" if "type" in event else ""
                text = f"{name}data: {json.dumps(event)}\n\n"
            self.wfile.write(text.encode())
            self.wfile.flush()
