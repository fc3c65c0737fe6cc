"""What `antiloop scan` takes for files that are broken, endless, or made to break it.

    python tests/benchmarks/hostile_files.py

Each file holds a run that is stuck before what is hostile, and where that can be, one after it.
Printed are the peak memory of the process, its exit status, the runs that it found, and the first
thing that it complained about.
"""

import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable, Dict, Iterable, Iterator, List

MB = 1_000_000
BOUND_MB = 400


def run(run_id: str) -> bytes:
    steps = [{"tool_name": "ls", "arguments": {"p": "."}, "result": "a.py"}] * 4
    return json.dumps({"run_id": run_id, "steps": steps}).encode() + b"\n"


def between(hostile: Iterable[bytes]) -> Iterator[bytes]:
    yield run("before")
    yield from hostile
    yield b"\n" + run("after")


def long_line(length: int) -> Iterator[bytes]:
    yield b'{"run_id": "long", "steps": [{"tool_name": "cat", "result": "'
    yield from (b"x" * MB for _ in range(length // MB))
    yield b'"}]}'


def long_document() -> Iterator[bytes]:
    """A document of 200 MB that is spread over many lines, after a small one."""
    yield json.dumps(json.loads(run("before")), indent=1).encode()
    yield b'\n{\n "steps": [\n'
    yield from (b'  {"tool_name": "ls"},\n' * 50_000 for _ in range(200 * MB // (23 * 50_000)))
    yield b"  {}\n ]\n}\n" + json.dumps(json.loads(run("after")), indent=1).encode()


def many_lines(millions: int) -> Iterator[bytes]:
    yield json.dumps(json.loads(run("before")), indent=1).encode() + b"\n[\n"
    yield from (b"0,\n\n" * (MB // 2) for _ in range(2 * millions))
    yield b"0\n]\n" + json.dumps(json.loads(run("after")), indent=1).encode()


def random_lines() -> bytes:
    runs = (run(os.urandom(300).hex()) for _ in range(5_000))
    return run("before") + b"".join(runs)


CASES: Dict[str, Callable[[], Iterable[bytes]]] = {
    "a line of 200 MB": lambda: between(long_line(200 * MB)),
    "a line of 60 MB, which is read": lambda: between(long_line(60 * MB)),
    "a document of 200 MB": long_document,
    "a document of 30 million lines": lambda: many_lines(30),
    "100,000 levels": lambda: between([b'{"steps":' + b"[" * 100_000 + b"]" * 100_000 + b"}"]),
    "100,000 levels, not closed": lambda: between([b'{"a":' * 100_000]),
    "no UTF-8": lambda: between([run("x")[:-9] + b"\xff\xfe\x80" + run("x")[-9:]]),
    "cut off": lambda: [run("before"), run("x")[:-9]],
    "cut off, .gz": lambda: [gzip.compress(random_lines())[:-1000]],
    "a line of 2 GB, .gz": lambda: packed(between(long_line(2000 * MB))),
}


def packed(parts: Iterable[bytes]) -> Iterator[bytes]:
    yield from (gzip.compress(part, 1) for part in parts)


def main() -> None:
    worst = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, make in CASES.items():
            path = Path(folder) / "recording"
            with path.open("wb") as file:
                file.writelines(make())
            worst = max(worst, measured(name, [str(path)], ()))
    worst = max(worst, measured("2 GB without an end, piped", ["-"], endless()))
    print(f"the most: {worst} MB, of {BOUND_MB} MB allowed")
    sys.exit(worst > BOUND_MB)


def endless() -> Iterator[bytes]:
    yield run("before")
    yield from long_line(2000 * MB)


def measured(name: str, arguments: List[str], fed: Iterable[bytes]) -> int:
    """Scan, print how it went, and give the peak memory in MB."""
    command = [sys.executable, "-m", "antiloop", "scan", "--format", "jsonl", *arguments]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out, stderr=err)
        assert process.stdin is not None
        process.stdin.writelines(fed)
        process.stdin.close()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        runs, said = sum(1 for _ in out), err.read().decode().partition("\n")[0]
    peak = used.ru_maxrss * 1024 // MB
    print(f"{name:<32}{peak:>5} MB  exit {process.returncode}  {runs:>5} runs  {said[-80:]}")
    return int(peak)


if __name__ == "__main__":
    main()
