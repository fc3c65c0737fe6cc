"""A loopback server of one model's API that is as strict as the real one, and scripted in Python.

A script is a function of the request: it returns a whole reply, or raises `Refused` for status 400.
Streams send the same reply in pieces of a few characters.
"""

import asyncio
import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from antiloop import Agent


class Refused(Exception):
    """What the server says with status 400."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.received.append(request)
        try:
            whole = self.server.script(request)
        except Refused as error:
            said = {"error": {"message": str(error)}}
            self.send("application/json", 400, json.dumps(said))
            return
        if not request.get("stream"):
            self.send("application/json", 200, json.dumps(whole))
            return
        events = self.server.streamed(whole)
        named = [(f"event: {each['type']}\n" if "type" in each else "", each) for each in events]
        lines = [f"{name}data: {json.dumps(each)}\n\n" for name, each in named]
        self.send("text/event-stream", 200, "".join(lines))

    def send(self, kind, status, text):
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@contextmanager
def serving(script, streamed):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.script, server.streamed, server.received = script, streamed, []
    server.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def pieces(text, size=4):
    return [text[start : start + size] for start in range(0, len(text), size)]


def pieces_of(block):
    """Cut the text of a block of reasoning; its signature comes with the last piece."""
    text = block.get("text")
    if not text:
        return [block]
    same = {name: block[name] for name in ("type", "index")}
    return [*({**same, "text": piece} for piece in pieces(text)), {**block, "text": ""}]


def anthropic_whole(content, stop_reason="end_turn"):
    usage = {"input_tokens": 3, "output_tokens": 5}
    head = {"id": "m", "type": "message", "role": "assistant", "model": "m"}
    return {**head, "content": content, "stop_reason": stop_reason, "usage": usage}


_GROWS = {
    "text": [("text", "text_delta")],
    "thinking": [("thinking", "thinking_delta"), ("signature", "signature_delta")],
}


def anthropic_events(whole):
    start = {**whole, "content": [], "stop_reason": None}
    yield {"type": "message_start", "message": start}
    for index, block in enumerate(whole["content"]):
        grows = _GROWS.get(block["type"], [])
        deltas = [
            {"type": kind, name: piece} for name, kind in grows for piece in pieces(block[name])
        ]
        empty = {**block, **{name: "" for name, _ in grows}}
        if "input" in block:
            parts = pieces(json.dumps(block["input"]))
            deltas = [{"type": "input_json_delta", "partial_json": each} for each in parts]
            empty["input"] = {}
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    late = {"stop_reason": whole["stop_reason"]}
    yield {"type": "message_delta", "delta": late, "usage": {"output_tokens": 5}}
    yield {"type": "message_stop"}


def openai_whole(message, finish_reason="stop"):
    choice = {"index": 0, "message": {"role": "assistant", **message}}
    head = {"id": "r", "object": "chat.completion", "created": 1, "model": "m"}
    return {**head, "choices": [{**choice, "finish_reason": finish_reason}]}


def openai_events(whole):
    choice = whole["choices"][0]
    message = choice["message"]
    deltas = [{"role": "assistant"}]
    for name, value in message.items():
        if name in ("content", "reasoning_content", "reasoning"):
            deltas += [{name: piece} for piece in pieces(value or "")]
        elif name == "reasoning_details":
            deltas += [{name: [piece]} for each in value for piece in pieces_of(each)]
        elif name not in ("role", "tool_calls"):
            deltas.append({name: value})
    for index, call in enumerate(message.get("tool_calls") or ()):
        arguments = call["function"]["arguments"]
        begun = {**call, "index": index, "function": {**call["function"], "arguments": ""}}
        deltas.append({"tool_calls": [begun]})
        for piece in pieces(arguments):
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    head = {"id": "r", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    for delta in deltas:
        yield {**head, "choices": [{"index": 0, "delta": delta}]}
    last = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    yield {**head, "choices": [last]}


def responses_whole(output, cut="", **more):
    """Return a response; `cut` names what cut it off."""
    head = {"id": "r", "object": "response", "created_at": 1, "model": "m", "output": output}
    end = {"status": "incomplete", "incomplete_details": {"reason": cut}} if cut else {}
    usage = {"input_tokens": 3, "output_tokens": 5, "total_tokens": 8}
    return {**head, "status": "completed", "usage": usage, **end, **more}


def responses_text(text, number=0, **more):
    part = {"type": "output_text", "text": text, "annotations": []}
    head = {"id": f"msg_{number}", "type": "message", "role": "assistant", "status": "completed"}
    return {**head, "content": [part], **more}


def responses_call(name, arguments, number=0, **more):
    head = {"id": f"fc_{number}", "type": "function_call", "call_id": f"call_{number}"}
    return {**head, "name": name, "arguments": arguments, "status": "completed", **more}


def responses_reasoning(text="", number=0):
    summary = [{"type": "summary_text", "text": text}] if text else []
    head = {"id": f"rs_{number}", "type": "reasoning", "summary": summary}
    return {**head, "encrypted_content": f"c2VjcmV0{number}"}


_GROWING = {
    "output_text": ("response.output_text.delta", "text"),
    "refusal": ("response.refusal.delta", "refusal"),
    "summary_text": ("response.reasoning_summary_text.delta", "text"),
}


def responses_events(whole):
    yield {"type": "response.created", "response": {**whole, "output": [], "status": "in_progress"}}
    for at, item in enumerate(whole["output"]):
        parts = item.get("content", item.get("summary", []))
        begun = {**item, **{name: [] for name in ("content", "summary") if name in item}}
        if "arguments" in item:
            begun["arguments"] = ""
        if "encrypted_content" in item:  # it may be there before it is whole
            begun["encrypted_content"] = "half"
        yield {"type": "response.output_item.added", "output_index": at, "item": begun}
        for part in parts:
            kind, name = _GROWING[part["type"]]
            yield from _deltas(kind, at, part[name])
        yield from _deltas("response.function_call_arguments.delta", at, item.get("arguments", ""))
        yield {"type": "response.output_item.done", "output_index": at, "item": item}
    yield {"type": f"response.{whole['status']}", "response": whole}


def _deltas(kind, at, text):
    return ({"type": kind, "output_index": at, "delta": piece} for piece in pieces(text))


_FIELDS = {
    "message": {"id", "type", "role", "status", "phase", "content"},
    "function_call": {"id", "type", "status", "call_id", "name", "arguments"},
    "function_call_output": {"type", "call_id", "output"},
    "reasoning": {"id", "type", "summary", "encrypted_content"},
}


def responses_replies(request):
    """Return the items of each earlier reply of the model; refuse what the real API refuses."""
    if request["store"] or "reasoning.encrypted_content" not in request["include"]:
        raise Refused("the conversation is not kept here")
    if any(each["strict"] or "function" in each for each in request.get("tools", ())):
        raise Refused("Invalid schema for function: 'required' is required")
    replies, is_open = [], False
    for item in request["input"]:
        kind = item.get("type", "message")
        if item.keys() - _FIELDS[kind]:
            raise Refused(f"Unknown parameter: {item.keys() - _FIELDS[kind]}")
        is_reply = kind != "function_call_output" and item.get("role", "assistant") == "assistant"
        if is_reply and not is_open:
            replies.append([])
        if is_reply:
            replies[-1].append(item)
        is_open = is_reply
    for reply in replies:
        if reply[-1]["type"] == "reasoning":
            raise Refused("'reasoning' was provided without its required following item.")
    calls, results = (
        [item["call_id"] for item in request["input"] if item.get("type") == kind]
        for kind in ("function_call", "function_call_output")
    )
    if calls != results:
        raise Refused("No tool output found for function call.")
    return replies


WAYS = ("run", "stream", "arun", "astream")


def runs_over(
    make, way, script, streamed, *prompts, tools=(), config=None, options=None, asked=None
):
    """Run an agent once for each prompt, and return the results and what the server received.

    Args:
        make: the class of the provider, and `options` are its options.
        way: one of `WAYS`, and `asked` are its keywords.
        script: what the server says.
        streamed: makes events of a whole reply.
        prompts: what the agent is asked.
        tools: the tools of the agent, and `config` is its configuration.
    """

    async def drive():
        with serving(script, streamed) as server:
            own = {"base_url": server.url, "api_key": "k", "max_retries": 0}
            async with make("m", client_options=own, **(options or {})) as provider:
                agent = Agent(tools, provider, config)
                results = [await in_way(way, agent, each, **(asked or {})) for each in prompts]
                return results, server.received

    return asyncio.run(drive())


async def in_way(way, agent, prompt, **asked):
    if way == "run":
        return agent.run(prompt, **asked)
    if way == "stream":
        return list(agent.stream(prompt, **asked))[-1].result
    if way == "arun":
        return await agent.arun(prompt, **asked)
    return [event async for event in agent.astream(prompt, **asked)][-1].result
