"""Loopback servers that speak the providers' protocols, and the four ways to ask them.

A server keeps no state. What it answers stands in the request, as JSON in the name of the model:
``text``, ``calls`` as ``[name, arguments as text, id]`` and ``usage`` make a proper reply;
``status`` (with ``headers``), ``body``, ``events`` and ``endless`` make the other kind; ``fails``
are statuses that come first, ``silent`` waits until the client gives up, and ``cut`` breaks a
stream off. With ``until``, the script is ``then`` once that text is in the conversation.
"""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from strict_server import responses_call, responses_events, responses_text, responses_whole


class LoopbackServer(ThreadingHTTPServer):
    """Answers every POST as the request itself says, and remembers what it received."""

    daemon_threads = True

    def __init__(self, whole, events):
        super().__init__(("127.0.0.1", 0), Handler)
        self.whole = whole
        self.events = events
        self.received = []
        self.hung_up = threading.Event()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.received.append(request)
        script = json.loads(request["model"])
        if "until" in script and script["until"] in json.dumps(conversation(request)):
            script = script["then"]
        tries = [each["model"] for each in self.server.received].count(request["model"]) - 1
        fails = script.get("fails", [])
        status = [*fails, script.get("status")][tries % (len(fails) + 1)]
        if script.get("silent"):
            self.connection.recv(1)
            self.close_connection = True
        elif status:
            error = {"error": {"message": script.get("said", "as asked")}}
            self.send_whole(error, status, script.get("headers", {}))
        elif request.get("stream"):
            self.send_events(script)
        else:
            self.send_whole(script.get("body", self.server.whole(script)))

    def send_whole(self, body, status=200, headers=()):
        data = json.dumps(body).encode()
        self.send_response(status)
        for name in headers:
            self.send_header(name, headers[name])
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def send_events(self, script):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        if script.get("cut"):
            self.send_header("Content-Length", "1000000")
        self.end_headers()
        events = script.get("events", self.server.events(script))
        events = events[:-2] if script.get("cut") else events
        rounds = 100_000 if script.get("endless") else 1
        try:
            for event in (event for _ in range(rounds) for event in events):
                self.send_event(event)
        except OSError:
            self.server.hung_up.set()
        self.close_connection = True

    def send_event(self, event):
        name = event.get("type") if isinstance(event, dict) else None
        data = event if isinstance(event, str) else json.dumps(event)
        self.wfile.write(f"event: {name}\ndata: {data}\n\n".encode() if name else b"")
        self.wfile.write(b"" if name else f"data: {data}\n\n".encode())
        self.wfile.flush()

    def log_message(self, *_):
        pass


def conversation(request):
    return request.get("messages") or request["input"]


@contextmanager
def serving(whole, events):
    server = LoopbackServer(whole, events)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def pieces(text, size=5):
    return [text[start : start + size] for start in range(0, len(text), size)]


def openai_whole(script):
    calls = [
        {"id": i, "type": "function", "function": {"name": name, "arguments": arguments}}
        for name, arguments, i in script.get("calls", ())
    ]
    message = {"role": "assistant", "content": script.get("text"), "tool_calls": calls or None}
    body = {"id": "r1", "object": "chat.completion", "created": 1, "model": "m"}
    return {**body, "choices": [{"index": 0, "message": message}], "usage": openai_usage(script)}


def openai_usage(script):
    spent_in, spent_out = script.get("usage", (0, 0))
    total = spent_in + spent_out
    return {"prompt_tokens": spent_in, "completion_tokens": spent_out, "total_tokens": total}


def openai_events(script):
    deltas = [{"role": "assistant", "content": None}]
    deltas += [{"content": piece} for piece in pieces(script.get("text") or "")]
    for index, (name, arguments, i) in enumerate(script.get("calls", ())):
        start = {"index": index, "id": i, "function": {"name": name, "arguments": ""}}
        deltas.append({"tool_calls": [start]})
        for piece in pieces(arguments):
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    chunk = {"id": "r1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    chunks = [{**chunk, "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    return [*chunks, {**chunk, "choices": [], "usage": openai_usage(script)}, "[DONE]"]


def anthropic_whole(script):
    blocks = [{"type": "text", "text": script["text"]}] if script.get("text") else []
    blocks += [
        {"type": "tool_use", "id": i, "name": name, "input": json.loads(arguments)}
        for name, arguments, i in script.get("calls", ())
    ]
    message = {"id": "r1", "type": "message", "role": "assistant", "model": "m"}
    return {**message, "content": blocks, "usage": anthropic_usage(script)}


def anthropic_usage(script):
    spent_in, spent_out = script.get("usage", (0, 0))
    return {"input_tokens": spent_in, "output_tokens": spent_out}


def anthropic_events(script):
    whole = anthropic_whole(script)
    early = {"input_tokens": whole["usage"]["input_tokens"], "output_tokens": 1}
    yield {"type": "message_start", "message": {**whole, "content": [], "usage": early}}
    for index, block in enumerate(whole["content"]):
        yield from anthropic_block(index, block)
    late = {"output_tokens": whole["usage"]["output_tokens"]}
    yield {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": late}
    yield {"type": "message_stop"}


def anthropic_block(index, block):
    if block["type"] == "text":
        empty = {**block, "text": ""}
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
    else:
        empty = {**block, "input": {}}
        parts = pieces(json.dumps(block["input"]))
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in parts]
    yield {"type": "content_block_start", "index": index, "content_block": empty}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


@pytest.fixture
def openai_server():
    with serving(openai_whole, openai_events) as server:
        yield server


def whole_response(script):
    said = [responses_text(script["text"])] if script.get("text") else []
    calls = [
        responses_call(name, arguments, at, call_id=i)
        for at, (name, arguments, i) in enumerate(script.get("calls", ()))
    ]
    spent = dict(zip(("input_tokens", "output_tokens"), script.get("usage", (0, 0))))
    return responses_whole([*said, *calls], usage=spent)


@pytest.fixture
def responses_server():
    streamed = lambda script: list(responses_events(whole_response(script)))  # noqa: E731
    with serving(whole_response, streamed) as server:
        yield server


@pytest.fixture
def anthropic_server():
    with serving(anthropic_whole, lambda script: list(anthropic_events(script))) as server:
        yield server


@pytest.fixture
def every_way():
    """Ask in all four ways: complete, acomplete, stream, astream."""

    async def ask(provider, request):
        return [
            provider.complete(request),
            await provider.acomplete(request),
            list(provider.stream(request))[-1],
            [item async for item in provider.astream(request)][-1],
        ]

    return ask
