"""What ``antiloop watch FOLDER --serve`` takes with a hundred growing sessions: CPU and memory.

    python tests/benchmarks/watch_many.py                 # a hundred sessions, two minutes
    python tests/benchmarks/watch_many.py --sessions 200 --seconds 30 --pages 5

Each session calls a tool every two seconds and is given two kB; every tenth is stuck. Then nine
times as much is written at once. CPU is that of the process, as the kernel counts it (Linux), so
what else the machine does changes it little. Memory is what the process holds then, and at most.
"""

import argparse
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from threading import Thread
from typing import Dict, Iterator, List, Tuple

EVERY_S = 2.0
PRESET = ["--preset", "escalating"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sessions", type=int, default=100)
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--pages", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sessions = [Session(Path(folder, f"{n}.jsonl"), n) for n in range(options.sessions)]
        with Watched(folder, options.pages) as watched:
            for each in sessions:
                each.write(1)
            watched.wait_for(len(sessions))
            print(
                f"{len(sessions)} sessions, {options.pages} page, a call every {EVERY_S:g} s each"
            )
            before = watched.cpu_s(), time.monotonic()
            grow(sessions, int(options.seconds / EVERY_S))
            used, took = watched.cpu_s() - before[0], time.monotonic() - before[1]
            print(f"CPU: {used:.2f} s in {took:.0f} s, {used / took:.1%} of a core")
            calls = sum(each.calls for each in sessions)
            watched.wait_for(calls)
            print(f"after {calls:,} calls: {watched.memory()}")
            for each in sessions:
                each.write(9 * each.calls)
            watched.wait_for(10 * calls)
            print(f"after {10 * calls:,} calls: {watched.memory()}")
            print(f"CPU in all: {watched.cpu_s() / calls / 10 * 1e3:.2f} ms a call")


class Session:
    """A recording that grows."""

    def __init__(self, path: Path, number: int) -> None:
        self.calls = 0
        self._path = path
        self._number = number
        self._is_stuck = number % 10 == 0

    def write(self, count: int) -> None:
        """Add so many calls."""
        with open(self._path, "a", encoding="utf-8") as file:
            file.writelines(self._line(self.calls + n) for n in range(count))
        self.calls += count

    def _line(self, call: int) -> str:
        what = 0 if self._is_stuck else call
        event = {
            "run_id": f"session-{self._number}",
            "type": "tool_call_completed",
            "tool": ("read_file", "search", "run_tests")[what % 3],
            "input": {"path": f"src/module_{what}.py"},
            "output": f"line {what} of a file\n" * (2_000 // 20),
        }
        return json.dumps(event) + "\n"


def grow(sessions: List[Session], rounds: int) -> None:
    """Add a call to each session in turn, spread evenly over the time."""
    start = time.monotonic()
    for number in range(rounds * len(sessions)):
        wait_s = start + number * EVERY_S / len(sessions) - time.monotonic()
        time.sleep(max(0.0, wait_s))
        sessions[number % len(sessions)].write(1)


class Watched:
    """The command, with pages open."""

    def __init__(self, folder: str, pages: int) -> None:
        command = [sys.executable, "-m", "antiloop", "watch", folder, *PRESET, "--serve"]
        self._process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        self._port, self._token = self._address()
        Thread(target=self._process.stderr.read, daemon=True).start()  # type: ignore[union-attr]
        self._pages = [self._events() for _ in range(pages)]
        self._calls: Dict[int, int] = {}
        for page in self._pages[1:]:
            Thread(target=list, args=(page,), daemon=True).start()

    def __enter__(self) -> "Watched":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(timeout=60)

    def wait_for(self, calls: int) -> None:
        """Wait until the first page shows so many calls."""
        while sum(self._calls.values()) < calls:
            self._calls.update(next(self._pages[0]))

    def cpu_s(self) -> float:
        """Give the seconds of CPU that were used until now."""
        fields = (
            Path(f"/proc/{self._process.pid}/stat").read_text("utf-8").rpartition(")")[2].split()
        )
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> str:
        """Say how much memory is held."""
        status = Path(f"/proc/{self._process.pid}/status").read_text("utf-8")
        found = {name: int(kb) / 1024 for name, kb in re.findall(r"(Vm\w+):\s+(\d+) kB", status)}
        files = len(os.listdir(f"/proc/{self._process.pid}/fd"))
        return f"{found['VmRSS']:.0f} MB, at most {found['VmHWM']:.0f} MB, {files} open files"

    def _address(self) -> Tuple[int, str]:
        for line in self._process.stderr or ():
            found = re.search(r":(\d+)/([\w-]+)/", line)
            if found:
                return int(found[1]), found[2]
        raise SystemExit("the page was not served")

    def _events(self) -> Iterator[Dict[int, int]]:
        """Yield the calls of the rows that changed, by their number."""
        with socket.create_connection(("127.0.0.1", self._port)) as client:
            head = f"GET /{self._token}/events HTTP/1.1\r\nHost: localhost:{self._port}\r\n\r\n"
            client.sendall(head.encode())
            for line in client.makefile("rb"):
                if line.startswith(b"data: "):
                    yield {row["number"]: row["calls"] for row in json.loads(line[6:])["rows"]}


if __name__ == "__main__":
    main()
