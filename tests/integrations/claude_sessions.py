"""Sessions of the real Claude Code, which talks to a model of our own on this machine."""

import contextlib
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from claude_agent_sdk import ClaudeAgentOptions, create_sdk_mcp_server, query, tool

PREFIX = "mcp__desk__"
"""What Claude Code puts before the names of the tools that a program offers it."""


class Model(ThreadingHTTPServer):
    """Says over HTTP what a script says; which reply it is, is read off the conversation.

    A real model takes longer to answer than Claude Code takes to write its transcript, so this one
    waits until the results that it was sent stand there.
    """

    daemon_threads = True

    def __init__(self, script, ran, home):
        super().__init__(("127.0.0.1", 0), Messages)
        self.script, self.ran, self.home = script, ran, home

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def reply(self, messages):
        self.wait_for(results_of(messages))
        self.ran.asked += 1
        self.ran.seen[:] = [text for message in messages for text in texts_of(message["content"])]
        number = sum(message["role"] == "assistant" for message in messages)
        calls = self.script.reply(number, self.ran.seen)
        return [
            {
                "type": "tool_use",
                "id": f"toolu_{number}_{position}",
                "name": f"{PREFIX}{name}",
                "input": arguments,
            }
            for position, (name, arguments) in enumerate(calls)
        ] or [{"type": "text", "text": "done"}]

    def wait_for(self, ids):
        waiting = threading.Event()
        for _ in range(500):
            texts = [path.read_text("utf-8") for path in Path(self.home).rglob("*.jsonl")]
            if all(any(f'"tool_use_id":"{each}"' in text for text in texts) for each in ids):
                return
            waiting.wait(0.01)
        raise TimeoutError(f"Claude Code has not written the results of {ids}")


class Messages(BaseHTTPRequestHandler):
    """Anthropic's Messages API, as far as Claude Code asks for it."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *args):
        """Say nothing."""

    def do_GET(self):
        self.send("application/json", "{}")

    def do_HEAD(self):
        self.send("application/json", "")

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if not asked.get("stream") or not asked.get("tools"):
            self.send("application/json", json.dumps({"input_tokens": 1}))
            return
        events = streamed(self.server.reply(asked["messages"]), len(asked["messages"]))
        self.send("text/event-stream", "".join(events))

    def send(self, kind, text):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(text.encode())))
        self.end_headers()
        with contextlib.suppress(ConnectionError):
            self.wfile.write(text.encode())


def streamed(blocks, number):
    """Yield the server-sent events of a reply."""
    reason = "tool_use" if blocks[0]["type"] == "tool_use" else "end_turn"
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "scripted"}
    message = {**message, "content": [], "stop_reason": None, "usage": usage}
    yield event("message_start", message=message)
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            said = json.dumps(block["input"])
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": said}
        yield event("content_block_start", index=index, content_block=empty)
        yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    yield event("message_delta", delta={"stop_reason": reason}, usage=usage)
    yield event("message_stop")


def event(name, **data):
    return f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n"


def results_of(messages):
    blocks = [block for message in messages for block in message["content"]]
    return [block["tool_use_id"] for block in blocks if "tool_use_id" in block]


def texts_of(content):
    """Return the texts of a message, those in results too."""
    if isinstance(content, str):
        return [content]
    texts = [block["text"] for block in content if "text" in block]
    results = [block["content"] for block in content if block.get("type") == "tool_result"]
    return texts + [text for result in results for text in texts_of(result)]


async def session(folder, script, ran, *, wrapped=lambda messages: messages, **options):
    """Carry out a script, note what happens, and give the last message.

    Args:
        folder: an empty one, for all that Claude Code keeps.
        script: what the model says.
        ran: where to note what happens.
        wrapped: what is put around the messages that `query` gives.
        options: for `ClaudeAgentOptions`.
    """

    @tool("search", "Search.", {"query": str})
    async def search(arguments):
        return {"content": [{"type": "text", "text": ran.answer(script, "search")}]}

    @tool("note", "Note.", {"text": str})
    async def note(arguments):
        return {"content": [{"type": "text", "text": ran.answer(script, "note")}]}

    model = Model(script, ran, folder)
    # It is asked to end between two looks, which are half a second apart if nothing else is said.
    threading.Thread(target=model.serve_forever, args=(0.01,), daemon=True).start()
    try:
        asked = query(prompt="Go", options=_options(folder, model, [search, note], options))
        async for message in wrapped(asked):
            last = message
    finally:
        model.shutdown()
        model.server_close()
    return last


def _options(folder, model, tools, options):
    environment = {
        "HOME": str(folder),
        "CLAUDE_CONFIG_DIR": str(folder),
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(SOURCE), os.environ.get("PYTHONPATH")])),
    }
    return ClaudeAgentOptions(
        cwd=folder,
        tools=[],
        mcp_servers={"desk": create_sdk_mcp_server("desk", tools=tools)},
        permission_mode="bypassPermissions",
        setting_sources=[],
        env=environment,
        **options,
    )


SOURCE = Path(__file__).parents[2] / "src"
