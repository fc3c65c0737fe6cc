"""What loops wasted is counted once and as a whole, whatever window looks at them."""

from hypothesis import example, given
from hypothesis import strategies as st

from antiloop._waste import Waste, wasted_steps
from antiloop.health import HealthProfile, evaluate
from antiloop.integrations._loop_metrics import REMEMBERED, LoopMetrics
from antiloop.loop_detection import LoopDetector, PingPongDetector, RepeatDetector
from antiloop.report._data.loops import loops_of
from antiloop.traces import RecordedRun
from antiloop.traces._live.live_session import LiveSession
from antiloop.types import ToolCall, ToolResult


class Counted(LoopMetrics):
    """Adds up what is counted, by name."""

    def __init__(self):
        super().__init__()
        self.sums = {}

    def count(self, name, amount, labels):
        self.sums[name] = self.sums.get(name, 0) + amount

    def suspicion(self, value, labels):
        pass

    def on_decision_time(self, seconds):
        pass


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(1, 30), st.integers(0, 90)), max_size=20),
    st.integers(1, 100),
)
def test_no_call_is_counted_twice_however_little_is_remembered(found, remembered):
    short, long = Waste(remembered), Waste(1_000)
    marked = set()
    for begin, count, wasted in found:
        steps = range(begin, begin + count)
        short.mark(steps, wasted)
        long.mark(steps, wasted)
        marked.update(wasted_steps(steps, wasted))
    assert long.calls == len(marked) >= short.calls


def test_of_a_loop_longer_than_its_window_each_call_in_the_window_is_wasted():
    assert list(wasted_steps((7, 8, 9), 2)) == [8, 9]
    assert list(wasted_steps((7, 8, 9), 3)) == list(wasted_steps((7, 8, 9), 5)) == [7, 8, 9]
    assert list(wasted_steps((7, 8, 9), 0)) == []


class UnderWay:
    """A run whose file still grows."""

    run_id = source = "r"
    is_over = False


ONE_CALL = ([ToolCall("make", {"what": "all"})], ["failed"])
TWO_CALLS = ([ToolCall("read", {"path": "a"}), ToolCall("look")], ["text", "seen"])


# Longer than what is remembered; few examples, because they take long.
@example(ONE_CALL, 6, 2 * REMEMBERED)
@example(TWO_CALLS, 40, 2 * REMEMBERED)
@example(ONE_CALL, REMEMBERED + 20, 2 * REMEMBERED)
@example(TWO_CALLS, REMEMBERED + 20, 60)
@given(st.sampled_from([ONE_CALL, TWO_CALLS]), st.integers(6, 40), st.integers(4, 60))
def test_each_place_says_the_same_number_of_wasted_calls(lap, window, laps):
    (calls, results), laps = lap, laps // len(lap[0]) + 3
    detectors = [RepeatDetector(), PingPongDetector()]
    detector = LoopDetector(detectors, policy="stop", window=window, shadow=True)
    monitor, metrics = detector.monitor(run_id="r"), Counted()
    monitor.add_listener(metrics)
    session = LiveSession(0, "r", UnderWay(), detector.window)
    for number, (call, result) in enumerate(list(zip(calls, results)) * laps, 1):
        verdict = monitor.record_call(call.tool_name, call.arguments, result).decision
        session.take(number, verdict)
    run = RecordedRun("r", calls * laps, [ToolResult(text) for text in results * laps])
    judged = evaluate(run, profile=HealthProfile(detector=detector))
    (loop,) = loops_of(run, judged.verdicts)
    wasted = len(calls) * (laps - 1)
    assert verdict.detection.wasted_calls == wasted
    assert metrics.sums["wasted_calls"] == session.wasted_calls == wasted
    assert judged.wasted_calls == len(loop.wasted) == wasted
