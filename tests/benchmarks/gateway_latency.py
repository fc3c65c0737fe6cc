"""What a guard adds to the latency of a LiteLLM proxy, with a conversation of 200 messages.

    python tests/benchmarks/gateway_latency.py               # needs the extra litellm
    python tests/benchmarks/gateway_latency.py --times 200   # more requests of each kind

Two proxies stand in front of a model that answers at once: one with the guard, one without. Times
are noise on a shared machine, so both are asked in turn, and a figure is a ratio of medians. The
slower a model, the nearer the ratios are to 1.
"""

import argparse
import http.client
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "integrations"))

from contract import Ran, Script  # noqa: E402
from model_server import model_server  # noqa: E402
from request_bodies import BODIES  # noqa: E402

MESSAGES = 200
ROUNDS = MESSAGES // 2
PATHS = {
    "openai_chat": ("/v1/chat/completions", "m"),
    "openai_responses": ("/v1/responses", "m"),
    "anthropic": ("/v1/messages", "claude-m"),
}
MODELS = """
model_list:
  - model_name: m
    litellm_params: {{model: openai/m, api_base: "{url}/v1", api_key: none}}
  - model_name: claude-m
    litellm_params: {{model: anthropic/claude-m, api_base: "{url}", api_key: none}}
"""
GUARD = "litellm_settings: {callbacks: antiloop.integrations.litellm.handler}\n"
SETTINGS = {
    "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true",
    "LITELLM_LOCAL_MODEL_COST_MAP": "true",
    "LITELLM_TELEMETRY": "false",
    "LITELLM_LOG": "ERROR",
}


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--times", type=int, default=60)
    times = options.parse_args().times
    with ExitStack() as stack:
        model = stack.enter_context(model_server())
        model.serve(Script(()), Ran())
        models = MODELS.format(url=model.url)
        ports = [stack.enter_context(proxy(models + more)) for more in ("", GUARD)]
        print(f"{'':20}{'new round':>20}{'known round':>20}")
        for kind, (path, name) in PATHS.items():
            ratios = [
                ratio(ports, path, json.dumps({**BODIES[kind](rounds), "model": name}), times)
                for rounds in (healthy(ROUNDS), polled(ROUNDS))
            ]
            print(f"{kind:20}" + "".join(f"{each:20.2f}" for each in ratios))


def healthy(count: int) -> List[List[Tuple[str, Dict[str, Any], str]]]:
    """Return rounds of which each reads something else."""
    return [[("read", {"path": f"src/module_{n}.py"}, page(n))] for n in range(count)]


def polled(count: int) -> List[List[Tuple[str, Dict[str, Any], str]]]:
    """Return rounds of which the last is a call that was made before, with another answer."""
    return [*healthy(count - 1), [("read", {"path": "src/module_0.py"}, page(count))]]


def page(number: int) -> str:
    return f"def function_{number}():\n    return {number}\n" * 60


@contextmanager
def proxy(config: str) -> Iterator[int]:
    """Run a proxy, and give its port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "config.yaml")
        place.write_text(config, encoding="utf-8")
        program = str(Path(sys.executable).with_name("litellm"))
        command = [program, "--config", str(place), "--port", str(port), "--host", "127.0.0.1"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(command, env={**os.environ, **SETTINGS}, **quiet) as process:
            try:
                wait_for(port, process)
                yield port
            finally:
                process.terminate()


def wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + 180
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.2)
    sys.exit("the proxy did not start")


def ratio(ports: List[int], path: str, body: str, times: int) -> float:
    """Return the median with the guard over that without."""
    clients = [http.client.HTTPConnection("127.0.0.1", port) for port in ports]
    asks = [asking(client, path, body.encode()) for client in clients]
    for ask in 5 * asks:
        ask()
    spent: List[List[float]] = [[ask() for ask in asks] for _ in range(times)]
    bare, guarded = (statistics.median(each) for each in zip(*spent))
    return guarded / bare


def asking(client: http.client.HTTPConnection, path: str, body: bytes) -> Callable[[], float]:
    def ask() -> float:
        started = time.perf_counter()
        headers = {"Content-Type": "application/json", "Authorization": "Bearer sk-1234"}
        client.request("POST", path, body, headers)
        answer = client.getresponse()
        text = answer.read()
        if answer.status != 200:
            sys.exit(text.decode())
        return time.perf_counter() - started

    return ask


if __name__ == "__main__":
    main()
