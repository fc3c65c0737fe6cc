"""A round that is interrupted anywhere can be reported again, as if it had not been reported."""

import sys
from copy import copy

import pytest

from antiloop import BaseDetector, LoopDetector, ToolCall, ToolResult
from antiloop.loop_detection import ToolPolicy

STRIDE = 23
"""Every so many lines the round is interrupted; a prime, so that all kinds of lines have a turn."""


class Interrupted(BaseException):
    """As KeyboardInterrupt and SystemExit, no `Exception`."""


class Custom(BaseDetector):
    name = "of_the_user"

    def check(self, tool_calls, tool_results):
        return None


def detector(preset, **options):
    made = getattr(LoopDetector, preset)(
        tools={"search": ToolPolicy(key=lambda given: given["q"], strip=["at"])}, **options
    )
    return LoopDetector([*made.detectors, Custom()], made.escalation, tools=made.tools, **options)


def rounds():
    for n in range(7):
        search = ToolCall("search", {"q": "x", "why": "to find the right words"}, f"s{n}", n)
        read = ToolCall("read", {"path": f"{n}.py", "why": "to see what is in it"}, f"r{n}", n)
        if n % 3 == 2:
            yield [read, search], [ToolResult(f"request {n}\nfile {n}"), "No results."]
        else:
            yield [search], [f"No results. Request 7{n}000{n}"]


SCRIPT = list(rounds())
MADE = {
    "default": lambda: detector("default").monitor(),
    "escalating": lambda: detector("escalating").monitor(),
    "judged": lambda: detector("escalating", second_opinion=lambda case: None).monitor(),
}


def after(monitor, number, at):
    """Report a round, interrupted at the line with this number; return whether it was."""
    left = at

    def each_line(frame, event, argument):
        nonlocal left
        if event == "line":
            left -= 1
            if left == 0:
                raise Interrupted
        return each_line

    def each_call(frame, event, argument):
        return each_line if "antiloop" in frame.f_globals.get("__name__", "") else None

    before = sys.gettrace()
    sys.settrace(each_call)
    try:
        monitor.after(*SCRIPT[number])
    except Interrupted:
        return True
    finally:
        sys.settrace(before)
    return False


@pytest.mark.parametrize("number", range(len(SCRIPT)))
@pytest.mark.parametrize("name", MADE)
def test_a_round_that_was_interrupted_anywhere_is_as_one_that_was_not_reported(name, number):
    unbroken = MADE[name]()
    for each in SCRIPT[:number]:
        unbroken.after(*each)
    before = unbroken.snapshot()
    verdict, left = unbroken.after(*SCRIPT[number]), unbroken.snapshot()
    at, over = 1, 0
    while True:
        monitor = MADE[name]()
        for each in SCRIPT[:number]:
            monitor.after(*each)
        if not after(monitor, number, at):
            break
        at += STRIDE
        if monitor.snapshot() == left:
            over += 1
            continue
        assert monitor.snapshot() == before
        assert monitor.after(*SCRIPT[number]) == verdict
        assert monitor.snapshot() == left
    assert over <= 1
    assert at > 200


@pytest.mark.parametrize("name", MADE)
def test_a_round_changes_no_list_and_no_dictionary_that_was_there_before(name):
    monitor = MADE[name]()
    for each in SCRIPT:
        kept = [value for part in monitor._parts for value in vars(part).values()]
        kept = [(value, copy(value)) for value in kept if isinstance(value, (list, dict))]
        monitor.after(*each)
        assert kept
        assert all(value == before for value, before in kept)


def test_a_verdict_that_a_listener_ended_is_given_again():
    monitor, heard = LoopDetector.default().monitor(), []

    def listener(verdict):
        heard.append(verdict.action.value)
        if len(heard) == 1:
            raise SystemExit

    monitor.add_listener(listener)
    calls = [ToolCall("ls", {}, id=f"c{number}") for number in range(3)]
    for call in calls[:2]:
        monitor.after([call], ["a.py"])
    with pytest.raises(SystemExit):
        monitor.after(calls[2:], ["a.py"])
    assert monitor.after(calls[2:], ["a.py"]).action.value == "raise"
    assert heard == ["raise", "raise"]
    assert monitor.call_count == 3
