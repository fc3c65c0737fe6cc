"""What a scan costs: as a ratio to unpacking and parsing it, in memory, and with several jobs.

    python tests/benchmarks/scan_throughput.py                  # a synthetic archive
    python tests/benchmarks/scan_throughput.py RUNS.jsonl.gz    # recorded runs of your own, too

Every figure is a ratio of two measured side by side, the smallest of several: times are noise on a
shared machine. Where one process works, it is processor time. The baseline is unpacking the
archive, if it is packed, and `json.loads` of each line. The archive for two jobs has 1,000,000
steps.
"""

import gzip
import json
import os
import sys
import tempfile
import time
import tracemalloc
from contextlib import redirect_stdout
from typing import Any, Callable, Dict, Iterator, List, Tuple

from antiloop import LoopDetector
from antiloop.cli import main as antiloop
from antiloop.cli._judged_run import judge, profile_of
from antiloop.traces import read_runs, replay

REPEATS = 5
STEPS, LARGE = 50, 1_000_000


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for path in [written(folder, 20_000), *sys.argv[1:]]:
            print_ratios(path)
        few, many = written(folder, 2_000), written(folder, 40_000)
        print(f"memory of 40,000 steps : 2,000       {peak(many) / peak(few):5.2f}")
        print_jobs(written(folder, LARGE))


def written(folder: str, steps: int) -> str:
    """Write an archive of so many steps, in healthy runs, and give its path."""
    path = os.path.join(folder, f"{steps}.jsonl")
    with open(path, "w", encoding="ascii") as file:
        file.writelines(json.dumps(run(number)) + "\n" for number in range(steps // STEPS))
    return path


def run(number: int) -> Dict[str, Any]:
    """Make a healthy run: other files, and a test now and then."""
    steps = [dict(step(number * STEPS + at), round=at) for at in range(STEPS)]
    return {"run_id": f"run-{number}", "steps": steps}


def step(number: int) -> Dict[str, Any]:
    if number % 5 == 4:
        told = f"{number} passed, 2 failed: test_a, test_b"
        return {"tool_name": "test", "arguments": {"path": "tests"}, "result": told}
    text = f"def function_{number}():\n    return {number}\n" * 10
    arguments = {"path": f"src/module_{number}.py"}
    return {"tool_name": "read_file", "arguments": arguments, "result": text}


def print_ratios(path: str) -> None:
    """Print what each part of a scan takes, over unpacking and `json.loads` of the same lines."""
    detector = LoopDetector.default()
    profile = profile_of(detector)

    def replayed() -> None:
        for recorded in read_runs(path):
            list(replay(recorded, detector))

    def judged() -> None:
        for recorded in read_runs(path):
            judge(recorded, profile)

    parts: Dict[str, Callable[[], object]] = {
        "reading the lines alone": lambda: sum(1 for _ in lines_of(path)),
        "reading the runs": lambda: sum(1 for _ in read_runs(path)),
        "reading, and replay": replayed,
        "reading, replay, and health": judged,
        "antiloop scan": lambda: scan(path),
    }
    size = sum(map(len, lines_of(path)))
    base = fastest(lambda: sum(1 for _ in map(json.loads, lines_of(path))))
    print(f"{os.path.basename(path)}, {size:,} bytes, over unpacking and json.loads:")
    for name, action in parts.items():
        print(f"  {name:<33}  {fastest(action) / base:5.2f}")


def lines_of(path: str) -> Iterator[bytes]:
    with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as file:
        yield from file


def peak(path: str) -> int:
    """Return the most memory that a scan takes at a time."""
    tracemalloc.start()
    scan(path)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def print_jobs(path: str) -> None:
    """Print how much faster two jobs are than one, the fastest of each."""
    times: List[Tuple[float, float]] = []
    for _ in range(2):
        alone = timed(lambda: scan(path))
        times.append((alone, timed(lambda: scan(path, "--jobs", "2"))))
    alone, together = map(min, zip(*times))
    print(f"{LARGE:,} steps, one job : two       {alone / together:5.2f}")


def scan(path: str, *arguments: str) -> None:
    """Scan without a word."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        antiloop(["scan", *arguments, path])


def fastest(action: Callable[[], object]) -> float:
    return min(timed(action, time.process_time) for _ in range(REPEATS))


def timed(action: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    started = clock()
    action()
    return clock() - started


if __name__ == "__main__":
    main()
