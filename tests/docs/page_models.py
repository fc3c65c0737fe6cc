"""The models of the page about real models: a server on loopback in the place of all of them."""

import json
import os
from contextlib import contextmanager
from unittest.mock import patch

from model_server import ModelServer, Refused, model_server

LOCAL = "http://localhost:11434"
"""The address that the page gives; it stands for the server."""
MODELS = (
    *("gpt-5.4", "gpt-5.4-mini", "claude-sonnet-5", "qwen3"),
    *("overloaded", "terse", "clerk", "stubborn"),
)


class PageServer(ModelServer):
    """Models that repeat a search until they are told; one of them fails once in its first run."""

    def __init__(self):
        super().__init__()
        self.failed = False

    def calls(self, request):
        model, text = request["model"], json.dumps(request.get("messages", request.get("input")))
        if model not in MODELS:
            raise Refused(404, f"model '{model}' not found")
        if model == "terse":
            return [], "The handbook says", "length"
        if model == "clerk":
            return [], '{"days": 30, "since": "2026-01-31"}'
        number = text.count('"call-') // 2
        tool = "lookup" if model == "overloaded" else "search"
        if number and model == "overloaded":
            if not self.failed:
                self.failed = True
                raise Refused(503, "overloaded")
            return [], "The handbook says 30 days."
        if request.get("tool_choice") in ("none", {"type": "none"}):
            return [], "I searched the handbook and found nothing."
        if "[antiloop] Notice" in text and model != "stubborn":
            return [], "The handbook does not say."
        return [(f"call-{number}", tool, {"query": "refund window"})], ""


@contextmanager
def page_models():
    """Serve the models, and give the addresses that stand for the server's, with its own."""
    with model_server(PageServer()) as server:
        keys = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}
        urls = {"OPENAI_BASE_URL": f"{server.url}/v1", "ANTHROPIC_BASE_URL": server.url}
        with patch.dict(os.environ, {**keys, **urls}):
            yield {LOCAL: server.url}
