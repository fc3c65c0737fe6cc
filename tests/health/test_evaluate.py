"""A score and warnings for a whole run: what must be found, and what must be left alone."""

import json

import pytest

from antiloop import LoopDetector, ToolCall, ToolResult, health
from antiloop.health import HealthProfile, HealthStatus
from antiloop.traces import RecordedRun, RunEvent, replay


def run_of(*steps, **fields):
    """A run of steps ``(tool, arguments, result)``, each a round of its own."""
    calls = tuple(
        ToolCall(tool, arguments, round=at) for at, (tool, arguments, _) in enumerate(steps)
    )
    results = tuple(ToolResult(text) if isinstance(text, str) else text for _, _, text in steps)
    return RecordedRun("r", calls, results, **fields)


def read(name, text=None):
    return ("read_file", {"path": name}, f"the text of {name}" if text is None else text)


def names_of(report):
    return [each.name for each in report.warnings]


def warning(report, name):
    return next(each for each in report.warnings if each.name == name)


SEARCH = ("search", {"q": "cats"}, "no results")
LOOK = ("look", {"at": "door"}, "The door is closed.")
FAILED = ("test", {"path": "tests"}, "2 failed: test_a, test_b")


def edit(number):
    return ("edit", {"path": "a.py", "new": f"line {number}" * number}, f"edited, {number} lines")


HEALTHY = {
    "three files": [read("a.py"), read("b.py"), read("c.py")],
    "a poll that moves on": [
        ("job_status", {"id": 7}, json.dumps({"state": "running", "percent": percent}))
        for percent in range(0, 100, 10)
    ],
    "an edit and test cycle": [
        step
        for number in range(1, 6)
        for step in (edit(number), ("test", {"path": "tests"}, f"{6 - number} failed"))
    ],
    "two retries, then success": [
        ("get", {"url": "/a"}, ToolResult("503 unavailable", is_error=True)),
        ("get", {"url": "/a"}, ToolResult("503 unavailable", is_error=True)),
        ("get", {"url": "/a"}, "the page"),
    ],
}

STUCK = {
    "the same call and result": [LOOK] * 6,
    "ping-pong": [LOOK, read("a.py")] * 5,
    "the same failure whatever is asked": [
        ("get", {"id": number}, ToolResult(f"Error: {number} not found", is_error=True))
        for number in range(1000, 1006)
    ],
    "duplicate messages": [
        ("send_message", {"to": "ann", "text": "hi"}, f"sent, message_id=m-{number}")
        for number in range(5)
    ],
    "an unknown tool": [
        ("frobnicate", {"n": number}, ToolResult("Error: unknown tool 'frobnicate'", is_error=True))
        for number in range(6)
    ],
}


@pytest.mark.parametrize("steps", HEALTHY.values(), ids=HEALTHY)
def test_healthy_work_is_healthy(steps):
    report = health.evaluate(run_of(*steps))
    assert (report.score, report.status, names_of(report)) == (100, HealthStatus.HEALTHY, [])


@pytest.mark.parametrize("steps", STUCK.values(), ids=STUCK)
def test_an_obvious_loop_is_not_healthy(steps):
    report = health.evaluate(run_of(*steps))
    assert report.status in (HealthStatus.WARNING, HealthStatus.LIKELY_STUCK)
    assert any(name.startswith("loop_") for name in names_of(report))
    assert 0 < report.wasted_calls < report.calls == len(steps)
