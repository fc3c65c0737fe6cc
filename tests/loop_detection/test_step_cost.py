"""What a step costs, counted in functions that are entered: seconds are noise."""

import sys

import pytest

from antiloop import LoopDetector, ToolCall, ToolResult

HEALTHY = "def function_{0}():\n    return {0}\n"
MOST = 30
"""Functions of this library that the step of a healthy run may enter."""


@pytest.mark.parametrize("preset", ["default", "escalating"])
def test_a_healthy_step_enters_few_functions(preset):
    monitor = getattr(LoopDetector, preset)().monitor()
    for number in range(60):
        monitor.after(*healthy(number))
    calls, results = healthy(60)
    assert len(entered(lambda: monitor.after(calls, results))) <= MOST


def test_a_healthy_step_compares_nothing_loosely():
    monitor = LoopDetector.escalating().monitor()
    names = [
        name
        for number in range(60)
        for name in entered(lambda number=number: monitor.after(*healthy(number)))
    ]
    assert names
    assert {"normalized", "mutates", "shown", "_knows", "refused_again"}.isdisjoint(names)


def healthy(number):
    """Return a round that reads a file of its own."""
    call = ToolCall("read_file", {"path": f"src/module_{number}.py"}, round=number)
    return [call], [ToolResult(HEALTHY.format(number) * 40)]


def entered(action):
    """Return the names of the functions of the library that are entered."""
    names = []

    def note(frame, event, _):
        if event == "call" and "antiloop" in frame.f_globals.get("__name__", ""):
            names.append(frame.f_code.co_name)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(before)
    return names
