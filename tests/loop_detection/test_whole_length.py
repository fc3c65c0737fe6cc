"""A loop is counted as a whole: the window bounds what is looked at, not what is told."""

from hypothesis import given
from hypothesis import strategies as st

from antiloop.loop_detection import (
    Escalation,
    LoopDetection,
    LoopDetector,
    PingPongDetector,
    RepeatDetector,
    StallDetector,
)
from antiloop.loop_detection._ladder import Ladder
from antiloop.types import ToolCall

DETECTORS = {
    "repeat": RepeatDetector(),
    "ping_pong": PingPongDetector(),
    "stall": StallDetector(),
}
# Numbers in calls and answers that are no counts of laps, though they may look like one.
NUMBERS = " ".join(map(str, range(12, 21)))
LAPS = {
    "repeat": [[("Bash", {"command": f"sleep {NUMBERS} times"}, f"tests {NUMBERS} failed")]],
    "ping_pong": [[("read", {"path": "a"}, "old")], [("test", {}, "12 failed")]],
}


def rounds_of(kind, laps):
    """Make the rounds of a loop, each a list of calls with their results."""
    if kind == "stall":
        return [[("get", {"url": str(at)}, "404 not found")] for at in range(laps)]
    return LAPS[kind] * laps


def last_finding(rounds, window, kind, cut=None):
    """Return the last finding of one detector, resumed in another process after `cut` rounds."""
    detector = LoopDetector([DETECTORS[kind]], policy="stop", window=window, shadow=True)
    monitor = detector.monitor()
    last = None
    for at, each in enumerate(rounds):
        if at == cut:
            snapshot = monitor.snapshot()
            monitor = detector.monitor()
            monitor.restore(snapshot)
        calls = [ToolCall(tool, arguments) for tool, arguments, _ in each]
        last = monitor.after(calls, [result for *_, result in each]).decision.detection or last
    return last


@given(st.sampled_from(sorted(DETECTORS)), st.integers(12, 20), st.integers(12, 70), st.data())
def test_a_count_never_depends_on_the_window(kind, window, laps, data):
    rounds = rounds_of(kind, laps)
    cut = data.draw(st.none() | st.integers(0, len(rounds) - 1))
    short, whole = last_finding(rounds, window, kind, cut), last_finding(rounds, 1_000, kind)
    assert whole.repetitions == laps
    for name in ("repetitions", "wasted_calls", "message", "summary", "identity", "period"):
        assert getattr(short, name) == getattr(whole, name)
    assert short.details["count"] == whole.details["count"]


def test_a_loop_that_comes_back_is_counted_anew():
    monitor = LoopDetector.escalating(shadow=True).monitor()
    for _ in range(60):
        last = monitor.record_call("make", {}, "failed").decision
    assert last.detection.repetitions == 60
    for at in range(60):
        monitor.record_call("read", {"path": str(at)}, f"text {at}")
    for _ in range(4):
        last = monitor.record_call("make", {}, "failed").decision
    assert last.detection.repetitions == 4


@given(st.text(max_size=400), st.text(max_size=400), st.booleans())
def test_a_refusal_counts_no_calls_whatever_it_says(first, later, is_refusal):
    ladder = Ladder(Escalation(("block", "stop"), every=9))
    ladder.climb([LoopDetection("mine", first, identity="x", indices=(0, 1))], 2, 2)
    again = LoopDetection("mine", later, identity="x", indices=(0, 1, 2), is_refusal=is_refusal)
    ladder.climb([again], 3, 3)
    [[*_, calls, length]] = ladder.to_dict()["main"]["loops"]
    assert (calls, length) == ((2, 2) if is_refusal else (3, 3))


def test_only_a_refusal_says_that_it_is_one():
    monitor = LoopDetector([RepeatDetector(2)], policy=Escalation(("block", "stop"))).monitor()
    found = [monitor.record_call("make", {}, "failed").detection for _ in range(2)][-1]
    refused = monitor.before(ToolCall("make", {}))
    assert (found.is_refusal, refused.detection.is_refusal) == (False, True)
