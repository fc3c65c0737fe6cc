"""What each detector counted, with the threshold that decides."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiloop import BaseDetector, LoopDetector
from antiloop.explanation import explain
from antiloop.loop_detection import (
    CallLimitDetector,
    FailureStreakDetector,
    NearRepeatDetector,
    NoEffectDetector,
    PingPongDetector,
    RecurrenceDetector,
    RepeatDetector,
    StallDetector,
    ToolPolicy,
    UnknownToolDetector,
)
from antiloop.loop_detection.presets import PRESETS
from antiloop.traces import RecordedRun, read_runs
from antiloop.types import ToolCall, ToolResult

FIXTURES = Path(__file__).parents[1] / "traces" / "fixtures"
FILES = sorted(path for path in FIXTURES.rglob("*") if path.is_file())


def recorded(*steps, **options):
    """Make a run of ``(tool, arguments, result)``, each a round of its own."""
    calls = tuple(ToolCall(tool, {"a": arguments}) for tool, arguments, _ in steps)
    return RecordedRun("r", calls, tuple(result for _, _, result in steps), **options)


def counted(run, *detectors, **options):
    counts = explain(run, LoopDetector(detectors, **options), len(run) - 1).counts
    return [(count.option, count.count, count.needed) for count in counts]


LOOK = ("look", 1, "a thing")
EMPTY = ("look", 1, "No results.")
WAIT = ("look", 1, "still running")
FAIL = [("get", number, ToolResult(f"Error: no ticket {number}", True)) for number in range(9)]


def names_found(run, detector):
    """Yield, for each round of a run, the names of the detectors that find something."""
    monitor, spoken = detector.monitor(), set(run.turn_starts)
    for first, last in run.rounds():
        if first in spoken:
            monitor.user_message()
        monitor.after(run.calls[first:last], run.results[first:last])
        yield [each.detector_name for each in detector.findings(monitor.window, (), ())]


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FIXTURES)))
def test_a_count_is_enough_where_the_detector_finds_something_and_nowhere_else(path, preset):
    detector = PRESETS[preset]()
    for run in read_runs(str(path)):
        found = list(names_found(run, detector))
        for number, (start, _) in enumerate(run.rounds()):
            # Each round is explained from the first call on, so only where it may be wrong.
            if any(found[number : number + 2]) or number + 1 == len(found):
                counts = explain(run, detector, start).counts
                assert [each.detector for each in counts if each.is_enough] == found[number]


ANSWERS = ("No results.", "", "ok", "a thing", "still running", "x" * 9_000, "Error: no ticket")


@settings(max_examples=15)
@given(
    st.sampled_from(sorted(PRESETS)),
    st.sampled_from(ANSWERS),
    st.booleans(),
    st.integers(1, 40),
    st.integers(1, 3),
)
def test_however_long_a_streak_is_its_count_is_enough(preset, answer, is_error, length, period):
    detector, monitor = PRESETS[preset](), PRESETS[preset]().monitor()
    steps = [("look", n % period, ToolResult(answer, is_error)) for n in range(length)]
    run = recorded(*steps)
    told = explain(run, detector, length - 1)
    for call, result in zip(run.calls, run.results):
        monitor.after([call], [result])
    found = [each.detector_name for each in detector.findings(monitor.window, (), ())]
    assert [count.detector for count in told.counts if count.is_enough] == found


@pytest.mark.parametrize(
    ("detector", "steps", "expected"),
    [
        (FailureStreakDetector(4), [EMPTY] * 12, ("patience", 12, 12)),
        (RepeatDetector(3), [LOOK], ("threshold", None, 3)),
        (RepeatDetector(3), [LOOK] * 2, ("threshold", 2, 3)),
        (RepeatDetector(3), [LOOK] * 4, ("threshold", 4, 3)),
        (RepeatDetector(3, patience=6), [WAIT] * 4, ("patience", 4, 6)),
        (RepeatDetector(3), [WAIT] * 2, ("threshold", 2, 3)),
        (PingPongDetector(2, 3), [WAIT, FAIL[0]] * 3, ("repetitions", 3, 3)),
        (RepeatDetector(3, patience=6), [WAIT] * 7, ("patience", 7, 6)),
        (RepeatDetector(3, patience=6), [LOOK] * 3, ("threshold", 3, 3)),
        (StallDetector(3), [("a", 1, "x"), ("a", 2, "x")], ("threshold", 2, 3)),
        (StallDetector(3, only_fruitless=True, varied=5), FAIL[:2], ("varied", 2, 5)),
        (StallDetector(3, only_fruitless=True, varied=5), FAIL[:4], ("varied", 4, 5)),
        (StallDetector(3, only_fruitless=True, varied=5), FAIL[:6], ("varied", 6, 5)),
        (StallDetector(3, only_fruitless=True, varied=5), FAIL[:1] * 2, ("threshold", 2, 3)),
        (StallDetector(3, only_fruitless=True, varied=5), FAIL[:1] * 3, ("threshold", 3, 3)),
        (PingPongDetector(2, 3), [LOOK, FAIL[0]] * 2, ("repetitions", 2, 3)),
        (PingPongDetector(2, 3), [LOOK, FAIL[0]] * 3, ("repetitions", 3, 3)),
        (PingPongDetector(2, 3, patience=4), [WAIT, FAIL[0]] * 3, ("patience", 3, 4)),
        (PingPongDetector(2, 3, patience=4), [WAIT, FAIL[0]] * 4, ("patience", 4, 4)),
        (RecurrenceDetector(4), [LOOK, FAIL[0]] * 3 + [LOOK], ("threshold", 4, 4)),
        (RecurrenceDetector(4, patience=6), [WAIT, FAIL[0]] * 3 + [WAIT], ("patience", 4, 6)),
        (NearRepeatDetector(4), FAIL[:1] * 3, ("threshold", 3, 4)),
        (FailureStreakDetector(4, in_a_row=5), FAIL[:4], ("threshold", 4, 4)),
        (NoEffectDetector(3), [("write_file", 1, "wrote 1 line")] * 2, ("threshold", 2, 3)),
        (UnknownToolDetector(3), [("a", 1, "unknown tool 'a'")] * 2, ("threshold", 2, 3)),
        (CallLimitDetector(2), [LOOK] * 2, ("limit", 2, 3)),
        (CallLimitDetector(per_tool={"look": 2}), [LOOK] * 3, ("per_tool", 3, 3)),
    ],
)
def test_the_threshold_that_decides_is_named(detector, steps, expected):
    assert counted(recorded(*steps), detector) == [expected]


def test_a_detector_with_two_criteria_may_count_two_things():
    assert counted(recorded(*FAIL[:3]), FailureStreakDetector(4, in_a_row=5)) == [
        ("threshold", 3, 4),
        ("in_a_row", 3, 5),
    ]


@pytest.mark.parametrize("count", [2, 4, 6])
def test_a_threshold_of_the_tool_takes_the_place_of_the_usual_one(count):
    tools = {"look": ToolPolicy(thresholds={"repeat": 5})}
    run = recorded(*[LOOK] * count)
    assert counted(run, RepeatDetector(3), tools=tools) == [("tools", count, 5)]


def test_what_is_declared_of_another_tool_hides_no_short_streak():
    tools = {"process": ToolPolicy(poll=True)}
    run = recorded(*[LOOK, FAIL[0]] * 2)
    assert counted(run, PingPongDetector(2, 5), tools=tools) == [("repetitions", 2, 5)]


def test_calls_of_other_tools_are_not_limited():
    assert counted(recorded(LOOK), CallLimitDetector(per_tool={"find": 2})) == []


def test_a_budget_of_a_turn_counts_from_the_message_of_the_user():
    run = recorded(*[LOOK] * 5, turn_starts=(0, 3))
    assert counted(run, CallLimitDetector(9, per_turn=True)) == [("limit", 2, 10)]


class Never(BaseDetector):
    name = "never"

    def check(self, tool_calls, tool_results):
        return None


def test_what_a_detector_of_your_own_counts_is_not_known():
    assert counted(recorded(LOOK), Never()) == []
