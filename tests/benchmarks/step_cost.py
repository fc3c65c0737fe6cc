"""What a step costs: flat in the length of a run, and as a ratio to hashing the step alone.

    python tests/benchmarks/step_cost.py                  # a synthetic run of 100,000 rounds
    python tests/benchmarks/step_cost.py RUNS.jsonl.gz    # also over recorded runs of your own

Times are noise on a shared machine, so every figure is a ratio of two measured side by side. The
raw bound of a step is `json.dumps(sort_keys=True)` and SHA-256 of its call, and SHA-256 of the text
of its result.
"""

import gc
import json
import statistics
import sys
import time
import tracemalloc
from dataclasses import replace
from hashlib import sha256
from typing import Callable, List, Sequence, Tuple

from antiloop import LoopDetector, LoopMonitor, ToolCall, ToolResult
from antiloop.traces import read_runs

Round = Tuple[Sequence[ToolCall], Sequence[ToolResult]]
PRESETS = ("default", "escalating")
REPEATS = 5


def main() -> None:
    for preset in PRESETS:
        print(f"{preset}:")
        print_flatness(preset)
        for path in sys.argv[1:]:
            print_ratio(preset, path)


def synthetic(number: int) -> Round:
    """Round `number` of a healthy run without end: other files, and a test now and then."""
    if number % 5 == 4:
        call = ToolCall("test", {"path": "tests"}, id=f"call-{number}")
        return [call], [ToolResult(f"{number} passed, 2 failed: test_a, test_b")]
    call = ToolCall("read_file", {"path": f"src/module_{number}.py"}, id=f"call-{number}")
    return [call], [ToolResult(f"def function_{number}():\n    return {number}\n" * 10)]


def print_flatness(preset: str) -> None:
    """Print the cost and the memory of a step late in a run over those early in the run."""
    monitor = getattr(LoopDetector, preset)().monitor()
    early = seconds_of_steps(monitor, 100, 2_100)
    seconds_of_steps(monitor, 2_100, 98_000)
    late = seconds_of_steps(monitor, 98_000, 100_000)
    print(f"  step 100,000 : step 100           {late / early:5.2f}")
    print(f"  check 100,000 : check 100         {check_ratio(preset):5.2f}")
    print(f"  memory 20,000 : 2,000             {memory_ratio(preset):5.2f}")


def seconds_of_steps(monitor: LoopMonitor, first: int, last: int) -> float:
    rounds = [synthetic(number) for number in range(first, last)]
    gc.collect()
    started = time.perf_counter()
    for calls, results in rounds:
        monitor.after(calls, results)
    return time.perf_counter() - started


def check_ratio(preset: str) -> float:
    """Return the cost of one `check` of 100,000 rounds over that of 100 rounds."""
    detector = getattr(LoopDetector, preset)()
    rounds = [synthetic(number) for number in range(100_000)]
    calls = [each[0][0] for each in rounds]
    results = [each[1][0] for each in rounds]
    few_calls, few_results = calls[:100], results[:100]
    few = fastest(lambda: detector.check(few_calls, few_results))
    return fastest(lambda: detector.check(calls, results)) / few


def memory_ratio(preset: str) -> float:
    """Return the memory that a monitor holds after 20,000 rounds over that after 2,000."""
    monitor = getattr(LoopDetector, preset)().monitor()
    tracemalloc.start()
    seconds_of_steps(monitor, 0, 2_000)
    early = tracemalloc.get_traced_memory()[0]
    seconds_of_steps(monitor, 2_000, 20_000)
    late = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return late / early


def print_ratio(preset: str, path: str) -> None:
    """Print the cost of all steps over the raw bound, over recorded runs.

    Both are measured in turn, in whole passes over fresh objects: the fastest time of each single
    round would flatter what has to be collected later.
    """
    runs = [
        [(run.calls[start:stop], run.results[start:stop]) for start, stop in run.rounds()]
        for run in read_runs(path)
    ]
    ratios = sorted(seconds_of_runs(preset, runs) / seconds_of_bound(runs) for _ in range(REPEATS))
    steps = sum(len(calls) for rounds in runs for calls, _ in rounds)
    print(f"  {path}, {steps} steps:")
    print(f"    all steps : the raw bound         {statistics.median(ratios):5.2f}")


def fresh(rounds: Sequence[Round]) -> List[Round]:
    return [([replace(call) for call in calls], results) for calls, results in rounds]


def seconds_of_runs(preset: str, runs: Sequence[Sequence[Round]]) -> float:
    """Return the time that the steps of all runs take, each run with a new monitor."""
    seconds = 0.0
    for rounds in runs:
        given = fresh(rounds)
        monitor = getattr(LoopDetector, preset)().monitor()
        started = time.perf_counter()
        for calls, results in given:
            monitor.after(calls, results)
        seconds += time.perf_counter() - started
    return seconds


def seconds_of_bound(runs: Sequence[Sequence[Round]]) -> float:
    seconds = 0.0
    for rounds in runs:
        given = fresh(rounds)
        started = time.perf_counter()
        for calls, results in given:
            bound(calls, results)
        seconds += time.perf_counter() - started
    return seconds


def bound(calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> None:
    """Hash each call and each result once: whoever compares them does at least this."""
    for call, result in zip(calls, results):
        text = f"{call.tool_name}{json.dumps(call.arguments, sort_keys=True)}"
        sha256(text.encode()).hexdigest()
        if result is not None:
            sha256(result.text.encode("utf-8", "surrogatepass")).hexdigest()


def fastest(action: Callable[[], object]) -> float:
    return min(timed(action) for _ in range(20 * REPEATS))


def timed(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
