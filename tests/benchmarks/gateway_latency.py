"""What a guard adds to the latency of a LiteLLM proxy, with a conversation of 200 messages.

    python tests/benchmarks/gateway_latency.py               # needs the extra litellm
    python tests/benchmarks/gateway_latency.py --times 200   # more requests of each kind

Two proxies stand in front of a model that answers at once: one with the guard, one without. Times
are noise on a shared machine, so both are asked in turn, and a figure is a ratio of medians. The
slower a model, the nearer the ratios are to 1.

Each time is that of a conversation of its own, with 200 messages. Its request before, with two
messages less, has passed the same proxy, as in an agent's run. The times of these earlier requests
make the last column: what a conversation costs that a proxy sees for the first time.
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
WARM_UP = 5
"""Conversations that are not counted."""
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


Rounds = List[List[Tuple[str, Dict[str, Any], str]]]
Pair = List[float]
"""Seconds without and with the guard."""


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--times", type=int, default=60)
    times = options.parse_args().times
    with ExitStack() as stack:
        model = stack.enter_context(model_server())
        model.serve(Script(()), Ran())
        models = MODELS.format(url=model.url)
        ports = [stack.enter_context(proxy(models + more)) for more in ("", GUARD)]
        print(f"{'':20}{'new round':>20}{'known round':>20}{'first request':>20}")
        for kind in PATHS:
            spent = [measured(ports, kind, rounds, times) for rounds in (healthy, polled)]
            ratios = [*(ratio(later) for _, later in spent), ratio([*spent[0][0], *spent[1][0]])]
            print(f"{kind:20}" + "".join(f"{each:20.2f}" for each in ratios), flush=True)


def healthy(count: int) -> Rounds:
    """Return rounds of which each reads something else."""
    return [[("read", {"path": f"src/module_{n}.py"}, page(n))] for n in range(count)]


def polled(count: int) -> Rounds:
    """Return rounds of which the last is a call that was made before, with another answer."""
    known = f"src/module_{count - 10}.py"
    return [*healthy(count - 1), [("read", {"path": known}, page(count))]]


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


def measured(
    ports: List[int], kind: str, rounds: Callable[[int], Rounds], times: int
) -> Tuple[List[Pair], List[Pair]]:
    """Return the seconds without and with the guard: of first requests, and of the next ones."""
    clients = [http.client.HTTPConnection("127.0.0.1", port) for port in ports]
    asks = [asking(client, PATHS[kind][0]) for client in clients]
    pairs = []
    for number in range(-WARM_UP, times):
        task, whole = f"Task {number}: {rounds.__name__}", rounds(ROUNDS)
        bodies = [written(kind, task, each) for each in (whole[:-1], whole)]
        turn = 1 if number % 2 else -1  # who is asked first
        first, later = ([ask(body) for ask in asks[::turn]][::turn] for body in bodies)
        pairs.append((first, later))
    return tuple(map(list, zip(*pairs[WARM_UP:])))  # type: ignore[return-value]


def written(kind: str, task: str, rounds: Rounds) -> bytes:
    """Return the request of a conversation that begins with a task."""
    words = [{"role": "user", "content": task}]
    body = BODIES[kind](rounds)
    place = "input" if "input" in body else "messages"
    return json.dumps({**body, place: [*words, *body[place][1:]], "model": PATHS[kind][1]}).encode()


def ratio(pairs: List[Pair]) -> float:
    """Return the median with the guard over that without."""
    bare, guarded = (statistics.median(each) for each in zip(*pairs))
    return guarded / bare


def asking(client: http.client.HTTPConnection, path: str) -> Callable[[bytes], float]:
    def ask(body: bytes) -> float:
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
