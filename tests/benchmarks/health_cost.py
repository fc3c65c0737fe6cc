"""What judging a run's health costs: flat in the length of a run, and beside the replay alone.

    python tests/benchmarks/health_cost.py

Times are noise on a shared machine, so every figure is a ratio of two measured side by side.
"""

import gc
import statistics
import time
import tracemalloc
from typing import Callable, Iterator, Sequence, Tuple

from antiloop import LoopDetector, ToolCall, ToolResult
from antiloop.health import HealthMonitor, HealthProfile
from antiloop.traces import RunEvent

Step = Tuple[ToolCall, ToolResult, Sequence[RunEvent]]
PROFILES = {"default": HealthProfile(), "literal": HealthProfile().literal()}
LENGTH = 100_000
PIECE, PIECES = 2_000, 5


def main() -> None:
    for run_name, make in (("healthy", healthy), ("stuck", stuck)):
        for profile_name, profile in PROFILES.items():
            print(f"{run_name} run, {profile_name} profile:")
            print(f"  step {LENGTH:,} : step 100    {flatness(profile, make):5.2f}")
            print(f"  a step : its replay alone    {over_replay(profile, make):5.2f}")
    print(f"memory of a healthy run, 20,000 : 2,000  {memory_ratio(PROFILES['default']):5.2f}")


def healthy(number: int) -> Step:
    """Step `number` of a run without end: other files, and a test now and then."""
    events = [
        RunEvent("llm_call_completed", number, latency_ms=900, cost=0.01, tokens=700),
        RunEvent("tool_call_completed", number, latency_ms=20),
        RunEvent("state_updated", number + 1),
    ]
    if number % 5 == 4:
        call = ToolCall("test", {"path": "tests"})
        return call, ToolResult(f"{number} passed, 2 failed: test_a, test_b"), events
    call = ToolCall("read_file", {"path": f"src/module_{number}.py"})
    return call, ToolResult(f"def function_{number}():\n    return {number}\n" * 10), events


def stuck(number: int) -> Step:
    """Step `number` of a run in which nothing new comes back, and which is retried."""
    events = [
        RunEvent("llm_call_completed", number, cost=0.01, tokens=700),
        RunEvent("retry_triggered", number + 1),
    ]
    return ToolCall("search", {"q": f"cats {number % 3}"}), ToolResult("no results"), events


def flatness(profile: HealthProfile, make: Callable[[int], Step]) -> float:
    """Return the cost of a step late in a run over that of one early in it."""
    monitor = HealthMonitor(profile)
    seconds(monitor, make, 0, 100)
    starts = range(100, LENGTH, PIECE)
    spent = [seconds(monitor, make, start, start + PIECE) for start in starts]
    return statistics.median(spent[-PIECES:]) / statistics.median(spent[:PIECES])


def over_replay(profile: HealthProfile, make: Callable[[int], Step]) -> float:
    """Return the cost of a step over that of the detectors alone."""
    ratios = []
    for _ in range(5):
        loops = LoopDetector.escalating().monitor()
        steps = [make(number) for number in range(PIECE)]
        started = time.process_time()
        for call, result, _events in steps:
            loops.after([call], [result])
        alone = time.process_time() - started
        ratios.append(seconds(HealthMonitor(profile), make, 0, PIECE) / alone)
    return sorted(ratios)[2]


def memory_ratio(profile: HealthProfile) -> float:
    """Return the memory that a monitor holds after 20,000 steps over that after 2,000."""
    monitor = HealthMonitor(profile)
    tracemalloc.start()
    seconds(monitor, healthy, 0, 2_000)
    early = tracemalloc.get_traced_memory()[0]
    seconds(monitor, healthy, 2_000, 20_000)
    late = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return late / early


def seconds(monitor: HealthMonitor, make: Callable[[int], Step], first: int, last: int) -> float:
    """Return what steps `first` to `last` cost; making them is left out, a piece at a time."""
    spent = 0.0
    for start in range(first, last, PIECE):
        steps = [make(number) for number in range(start, min(start + PIECE, last))]
        gc.collect()
        started = time.process_time()
        feed(monitor, iter(steps))
        spent += time.process_time() - started
    return spent


def feed(monitor: HealthMonitor, steps: Iterator[Step]) -> None:
    for call, result, events in steps:
        monitor.add(events[0])
        monitor.add_round([call], [result])
        for event in events[1:]:
            monitor.add(event)


if __name__ == "__main__":
    main()
