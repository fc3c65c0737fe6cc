"""A scripted model behind the three LLM APIs, on loopback."""

import json
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_KINDS = {
    "/chat/completions": "openai_chat",
    "/responses": "openai_responses",
    "/messages": "anthropic",
}


class Refused(Exception):
    """What is answered instead of a reply: a status and what went wrong."""


class ModelServer(ThreadingHTTPServer):
    """Says what a script says; which reply it is, is read off the ids of the calls."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.script = self.ran = None
        self.received = []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def serve(self, script, ran):
        self.script, self.ran = script, ran
        self.received.clear()

    def calls(self, request):
        """Return the calls in the reply to a request, ``(id, name, arguments)``, and its text."""
        text = json.dumps(request)
        number = max((int(each) + 1 for each in re.findall(r'"call-(\d+)-', text)), default=0)
        self.ran.asked += 1
        self.ran.seen[:] = texts_of(request.get("messages", request.get("input")))
        calls = self.script.reply(number, self.ran.seen)
        if request.get("tool_choice") in ("none", {"type": "none"}):
            calls = ()
        named_calls = [(f"call-{number}-{place}", *call) for place, call in enumerate(calls)]
        return named_calls, self.script.text(number, calls)


def texts_of(value):
    """Return all texts in a conversation."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in inner for text in texts_of(each)]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        kind = next(kind for end, kind in _KINDS.items() if self.path.endswith(end))
        self.server.received.append(request)
        try:
            reply = self.server.calls(request)
        except ConnectionError as error:
            self.send(500, "application/json", json.dumps({"error": {"message": str(error)}}))
            return
        except Refused as refused:
            status, said = refused.args
            self.send(status, "application/json", json.dumps({"error": {"message": said}}))
            return
        if request.get("stream"):
            self.send(200, "text/event-stream", EVENTS[kind](*reply))
        else:
            self.send(200, "application/json", json.dumps(WHOLE[kind](*reply)))

    def send(self, status, media, text):
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", media)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@contextmanager
def model_server(server=None):
    """Run a server, and give it."""
    server = server or ModelServer()
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def chat_calls(calls):
    return [
        {
            "index": index,
            "id": id_,
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for index, (id_, name, arguments) in enumerate(calls)
    ]


def chat(calls, text, reason=""):
    message = {"role": "assistant", "content": text or None}
    message = {**message, "tool_calls": chat_calls(calls)} if calls else message
    reason = reason or ("tool_calls" if calls else "stop")
    choice = {"index": 0, "message": message, "finish_reason": reason}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m"}
    return {**head, "choices": [choice], "usage": usage}


def chat_events(calls, text):
    whole = chat(calls, text)
    choice = whole["choices"][0]
    head = {**whole, "object": "chat.completion.chunk"}
    del head["usage"]
    parts = [
        {"index": 0, "delta": choice["message"], "finish_reason": None},
        {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]},
    ]
    lines = [f"data: {json.dumps({**head, 'choices': [part]})}\n\n" for part in parts]
    return "".join([*lines, "data: [DONE]\n\n"])


def response(calls, text):
    items = [
        {
            "type": "function_call",
            "id": f"fc_{id_}",
            "call_id": id_,
            "name": name,
            "arguments": json.dumps(arguments),
            "status": "completed",
        }
        for id_, name, arguments in calls
    ]
    part = {"type": "output_text", "text": text, "annotations": []}
    said = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "m",
        "output": [*([{**said, "content": [part]}] if text else []), *items],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "temperature": None,
        "top_p": None,
        "usage": {
            "input_tokens": 1,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 1,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 2,
        },
    }


def response_events(calls, text):
    whole = response(calls, text)
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    events = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(whole["output"]):
        place = {"output_index": index, "item": item}
        events.append({"type": "response.output_item.added", **place})
        events.append({"type": "response.output_item.done", **place})
    events.append({"type": "response.completed", "response": whole})
    return named([{**each, "sequence_number": number} for number, each in enumerate(events)])


def message(calls, text):
    uses = [
        {"type": "tool_use", "id": id_, "name": name, "input": arguments}
        for id_, name, arguments in calls
    ]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [*([{"type": "text", "text": text}] if text else []), *uses],
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def message_events(calls, text):
    whole = message(calls, text)
    begun = {**whole, "content": [], "stop_reason": None}
    events = [{"type": "message_start", "message": begun}]
    for index, block in enumerate(whole["content"]):
        if block["type"] == "text":
            empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            written = json.dumps(block["input"])
            empty, delta = {**block, "input": {}}, {"type": "input_json_delta"}
            delta["partial_json"] = written
        events.append({"type": "content_block_start", "index": index, "content_block": empty})
        events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": ended, "usage": {"output_tokens": 1}})
    return named([*events, {"type": "message_stop"}])


def named(events):
    return "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events)


WHOLE = {"openai_chat": chat, "openai_responses": response, "anthropic": message}
EVENTS = {
    "openai_chat": chat_events,
    "openai_responses": response_events,
    "anthropic": message_events,
}
