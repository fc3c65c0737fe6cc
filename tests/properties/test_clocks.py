"""A clock that is set back, or tells nonsense, changes no verdict."""

import json
from dataclasses import replace
from itertools import count

from hypothesis import given
from hypothesis import strategies as st
from test_differential import runs
from test_redaction import judged, recorded

from antiloop import ToolResult
from antiloop.loop_detection.presets import PRESETS
from antiloop.traces import RunRecorder, read_runs

NAMES = st.sampled_from(sorted(PRESETS))
NUMBERS = st.lists(st.floats(0, 9), min_size=1)
TIMES = st.lists(
    st.one_of(st.floats(), st.integers(), st.sampled_from([10**400, -(10**400), 1e308, -1e308])),
    min_size=1,
)
JUMPS = st.lists(st.integers(-(10**6), 10**6), min_size=1)


def timed(run, moments, durations):
    """Return the run with these times."""
    calls = tuple(replace(call, started_at=at) for call, at in zip(run.calls, moments))
    results = tuple(
        result and replace(result, duration_s=took) for result, took in zip(run.results, durations)
    )
    return replace(run, calls=calls, results=results)


@given(NAMES, runs().map(recorded), st.floats(0.001, 1e6))
def test_a_clock_that_runs_backwards_is_no_clock(preset, run, gap):
    falling = (1_700_000_000 - number * gap for number in count())
    never = (None for _ in count())
    assert judged(timed(run, falling, never), preset) == judged(run, preset)


@given(
    NAMES,
    runs().map(recorded),
    TIMES,
    TIMES,
)
def test_no_time_makes_a_detector_raise(preset, run, moments, durations):
    def over(listed):
        return (listed[number % len(listed)] for number in count())

    judged(timed(run, over(moments), over(durations)), preset)


@given(TIMES, TIMES)
def test_no_time_makes_a_snapshot_that_is_not_json(moments, durations):
    monitor = PRESETS["escalating"]().monitor()
    for moment, took in zip(moments, durations):
        monitor.record_call("look", {}, "same", started_at=moment, duration_s=took)
    json.dumps(monitor.snapshot(), allow_nan=False)


RESULTS = st.one_of(
    st.text(),
    st.none(),
    st.builds(ToolResult, st.text(), st.booleans()),
    st.recursive(
        st.integers() | st.binary() | st.booleans(),
        lambda held: st.lists(held, max_size=2) | st.dictionaries(st.text(), held, max_size=2),
        max_leaves=3,
    ),
)


@given(st.lists(RESULTS, min_size=1, max_size=2), NUMBERS)
def test_the_time_of_a_call_may_be_said_with_any_result(results, durations):
    timeless, monitor = (PRESETS["default"]().monitor() for _ in range(2))
    for number in range(6):
        result = results[number % len(results)]
        took = durations[number % len(durations)]
        said = monitor.record_call("look", {}, result, duration_s=took)
        assert said.action is timeless.record_call("look", {}, result).action


@given(NAMES, runs().map(recorded), st.lists(st.integers(-(10**6), 10**6), min_size=1))
def test_a_recording_by_a_clock_that_is_set_back_is_judged_like_the_run(
    tmp_path_factory, preset, run, jumps
):
    path = tmp_path_factory.mktemp("clock") / "runs.jsonl"
    moments = (1_700_000_000 + jumps[number % len(jumps)] for number in count())
    turns = set(run.turn_starts)
    with RunRecorder(path, run_id="a1", clock=lambda: next(moments)) as recorder:
        for at, (call, result) in enumerate(zip(run.calls, run.results)):
            if at in turns:
                recorder.user_message()
            said = None if result is None else result.text
            failed = result is not None and result.is_error
            recorder.tool_call(
                call.tool_name, call.arguments, said, is_error=failed, round=call.round
            )
        if len(run.calls) in turns:
            recorder.user_message()
    [read] = read_runs(path)
    assert judged(read, preset) == judged(run, preset)
