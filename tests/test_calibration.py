"""Calibration: the bound, the search for thresholds, and what it promises."""

import math
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from antiloop import LoopDetector, LoopPolicy, PingPongDetector, RepeatDetector, StallDetector
from antiloop.calibration import calibrate, runs_needed, stops_allowed, tally, upper_bound
from antiloop.calibration._thresholds import COUNTS, Thresholds
from antiloop.loop_detection import (
    CallLimitDetector,
    Escalation,
    LoopDetection,
    ToolPolicy,
)
from antiloop.loop_detection._registry import DETECTORS as TYPES
from antiloop.loop_detection.presets import PRESETS
from antiloop.traces import RecordedRun
from antiloop.types import ToolCall, ToolResult

SHARES = st.floats(0.001, 0.999)


def run_of(*steps, run_id="run"):
    """Make a run of ``(tool, argument, result)`` steps, each a round of its own."""
    calls = tuple(ToolCall(tool, {"x": argument}) for tool, argument, _ in steps)
    return RecordedRun(run_id, calls, tuple(ToolResult(result) for *_, result in steps))


def streak(count, run_id="run"):
    return run_of(*[("ls", 1, "a.py")] * count, run_id=run_id)


def in_turn(laps, *names):
    return run_of(*[(name, 1, "a.py") for name in names] * laps)


def repeat(threshold=3, policy=LoopPolicy.RAISE, **options):
    return LoopDetector([RepeatDetector(threshold)], policy, **options)


def fitted(runs, detector, **options):
    """Calibrate, and give what was changed as ``{(detector, option): (before, after)}``."""
    done = calibrate(runs, detector, **options)
    return {(c.detector, c.option): (c.before, c.after) for c in done.changes}


# The bound


@pytest.mark.parametrize(
    ("stops", "runs", "confidence", "expected"),
    [
        # Without stops it is 1 - (1 - confidence) ** (1 / runs).
        (0, 1, 0.95, 0.95),
        (0, 299, 0.95, 0.0099693),
        (0, 10, 0.975, 0.3084971),
        # From tables of the two-sided 95 % interval.
        (1, 10, 0.975, 0.4450161),
        (5, 10, 0.975, 0.8129139),
        (9, 10, 0.975, 0.9974714),
        (1, 473, 0.95, 0.0099902),
        (10, 10, 0.95, 1.0),
        (0, 0, 0.95, 1.0),
    ],
)
def test_the_bound_has_its_known_values(stops, runs, confidence, expected):
    assert upper_bound(stops, runs, confidence) == pytest.approx(expected, abs=5e-7)


def test_the_runs_needed_for_one_percent_are_the_known_ones():
    assert [runs_needed(stops, 0.01) for stops in range(4)] == [299, 473, 628, 773]


def test_runs_that_are_too_few_allow_less_than_no_stop():
    assert [stops_allowed(runs, 0.01) for runs in (0, 298, 299, 472, 473)] == [-1, -1, 0, 0, 1]


@given(st.integers(1, 200), st.data(), SHARES)
def test_at_the_bound_so_few_stops_are_as_unlikely_as_the_confidence_says(runs, data, confidence):
    stops = data.draw(st.integers(0, runs - 1))
    share = upper_bound(stops, runs, confidence)
    tail = sum(math.comb(runs, i) * share**i * (1 - share) ** (runs - i) for i in range(stops + 1))
    assert tail == pytest.approx(1 - confidence, abs=1e-8)


@given(st.integers(1, 300), st.data(), SHARES)
def test_the_bound_grows_with_stops_and_confidence_and_falls_with_runs(runs, data, confidence):
    stops = data.draw(st.integers(0, runs - 1))
    bound = upper_bound(stops, runs, confidence)
    assert bound <= upper_bound(stops + 1, runs, confidence)
    assert bound >= upper_bound(stops, runs + 1, confidence)
    assert bound <= upper_bound(stops, runs, (1 + confidence) / 2)


@given(st.integers(0, 300), st.floats(0.01, 0.99), st.floats(0.5, 0.99))
def test_as_many_stops_are_allowed_as_the_bound_bears(runs, share, confidence):
    allowed = stops_allowed(runs, share, confidence)
    assert allowed == -1 or upper_bound(allowed, runs, confidence) <= share + 1e-9
    assert upper_bound(min(runs, allowed + 1), runs, confidence) >= share - 1e-9


@given(st.integers(0, 50), st.floats(0.01, 0.99), st.floats(0.5, 0.99))
def test_the_runs_needed_are_the_fewest(stops, share, confidence):
    needed = runs_needed(stops, share, confidence)
    assert stops_allowed(needed, share, confidence) >= stops
    assert needed == stops + 1 or stops_allowed(needed - 1, share, confidence) < stops


def test_a_large_number_of_runs_neither_overflows_nor_loses_precision():
    assert upper_bound(1000, 100_000) == pytest.approx(0.010537, abs=1e-5)


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda: upper_bound(2, 1), "got 2 of 1"),
        (lambda: upper_bound(-1, 1), "stops must be a whole number, 0 or more, got -1"),
        (lambda: runs_needed(-1, 0.1), "stops must be a whole number, 0 or more, got -1"),
        (lambda: upper_bound(0, 1, 1.0), "confidence must be between 0 and 1"),
        (lambda: stops_allowed(1, 0.0), "share must be between 0 and 1"),
        (lambda: runs_needed(0, 0.1, float("nan")), "confidence must be between 0 and 1"),
    ],
)
def test_numbers_that_cannot_be_are_refused(ask, told):
    with pytest.raises(ValueError, match=told):
        ask()


# What good runs are counted for


def test_runs_may_come_one_by_one():
    runs = [streak(4, "a"), streak(2, "b")]
    assert calibrate(iter(runs), repeat()) == calibrate(runs, repeat())


def test_a_run_is_counted_once_up_to_its_first_stop():
    counted = tally([streak(2), streak(9, "long")], repeat())
    assert (counted.runs, counted.notified) == (2, 0)
    (stop,) = counted.stops
    assert (stop.run.run_id, stop.step, stop.action.value) == ("long", 2, "raise")
    assert stop.began.repetitions == 3


def test_a_notice_before_the_stop_counts_and_is_where_the_loop_began():
    counted = tally([streak(4)], repeat(policy=Escalation(("notify", "block"))))
    assert counted.notified == 1
    assert counted.stops[0].step == 3
    assert counted.stops[0].began.repetitions == 3


def test_a_notice_about_another_loop_counts_as_well():
    detector = LoopDetector(
        [RepeatDetector(3), PingPongDetector(2, 3)],
        LoopPolicy.STOP,
        escalations={"repeat": Escalation(("notify",))},
    )
    run = run_of(*[("ls", 1, "a.py")] * 3, *[("a", 1, "b"), ("b", 1, "c")] * 3)
    counted = tally([run, streak(3)], detector)
    assert (counted.notified, len(counted.stops)) == (2, 1)


# The search


def test_what_stopped_no_good_run_stays_as_it_is():
    done = calibrate([streak(2)], LoopDetector.default(), max_false_stops=0.5, confidence=0.4)
    assert done.changes == ()
    assert done.config == LoopDetector.default().to_config()
    assert done.holds


def test_a_threshold_is_raised_to_just_above_the_longest_streak():
    assert fitted([streak(3), streak(7)], repeat()) == {
        ("repeat", "threshold"): (3, 8),
        ("repeat", "patience"): (3, 8),
    }


def test_a_ladder_that_tells_first_needs_a_smaller_raise():
    tells = repeat(policy=Escalation(("notify", "block")))
    assert fitted([streak(7)], tells)["repeat", "threshold"] == (3, 7)


def test_only_the_detector_that_stopped_is_raised():
    detector = LoopDetector([RepeatDetector(3), StallDetector(3), PingPongDetector(2, 3)])
    assert fitted([in_turn(4, "a", "b")], detector) == {
        ("ping_pong", "repetitions"): (3, 5),
        ("ping_pong", "patience"): (3, 5),
    }


def test_patience_is_raised_alone_where_it_was_patience_that_ended():
    waiting = run_of(*[("job_status", 1, "queued")] * 14)
    assert fitted([waiting], LoopDetector.default()) == {("repeat", "patience"): (12, 15)}


def test_a_stop_that_the_bound_allows_is_left_when_another_is_cheaper_to_avoid():
    runs = [streak(20), in_turn(4, "a", "b"), *[streak(1)] * 8]
    detector = LoopDetector([RepeatDetector(3), PingPongDetector(2, 3)])
    assert stops_allowed(len(runs), 0.4) == 1
    done = calibrate(runs, detector, max_false_stops=0.4)
    assert {change.detector for change in done.changes} == {"ping_pong"}
    assert [len(stop.run) for stop in done.after.stops] == [20]


def test_a_step_is_a_tenth_from_50_on():
    calls = [run_of(*[("ls", number, "") for number in range(58)])]
    limit = LoopDetector([CallLimitDetector(48)])
    assert fitted(calls, limit) == {("call_limit", "limit"): (48, 60)}  # 49, 50, 55, 60


def test_a_limit_of_one_tool_is_raised_for_that_tool():
    limits = LoopDetector([CallLimitDetector(50, per_tool={"ls": 3, "cat": 3})])
    assert fitted([streak(5)], limits) == {("call_limit", "limit of 'ls'"): (3, 5)}


def test_a_threshold_declared_for_a_tool_is_raised_there():
    declared = repeat(6, tools={"ls": ToolPolicy(thresholds={"repeat": 2})})
    assert fitted([streak(4)], declared) == {("repeat", "threshold of 'ls'"): (2, 5)}


def test_two_detectors_of_one_name_are_told_apart():
    detector = LoopDetector([RepeatDetector(9), RepeatDetector(3)])
    done = calibrate([streak(5)], detector)
    assert [(c.option, c.before, c.after) for c in done.changes] == [
        ("threshold", 3, 6),
        ("patience", 3, 6),
    ]


def test_the_longest_cycle_gives_way_where_the_window_has_no_room():
    detector = LoopDetector([PingPongDetector(12, 3)])
    assert fitted([in_turn(4, *"abcdefghijkl")], detector) == {
        ("ping_pong", "cycle_length"): (12, 10),
        ("ping_pong", "repetitions"): (3, 5),
        ("ping_pong", "patience"): (3, 5),
    }


def test_a_detector_only_tells_where_no_threshold_is_left():
    done = calibrate([streak(50)], repeat())
    (change,) = done.changes
    assert (change.option, change.before, change.after) == ("actions", None, ["notify"])
    assert (done.after.notified, done.after.stops) == (1, ())


def test_what_cannot_be_helped_is_said():
    budget = Escalation(("notify",), max_interventions=1)
    detector = LoopDetector([RepeatDetector(49)], budget)
    run = run_of(*[("ls", 1, "a")] * 50, *[("ls", 2, "a")] * 50)
    done = calibrate([run], detector)
    assert len(done.after.stops) == 1
    assert not done.holds
    assert done.runs_needed == runs_needed(1, 0.01)


def test_progress_is_told():
    told = []
    calibrate([streak(3)], repeat(), on_progress=told.append)
    assert told == [
        "replaying all runs",
        "good runs still stopped: 1",
        "taking back what is not needed",
        "replaying all runs",
    ]


def test_the_runs_decide_what_the_figures_support():
    few = calibrate([streak(1)] * 100, LoopDetector.default())
    assert (few.holds, few.stops_allowed, few.runs_needed) == (False, -1, 299)
    assert few.share_after == few.share_before == pytest.approx(0.02951, abs=1e-5)
    enough = calibrate([streak(1)] * 299, LoopDetector.default())
    assert (enough.holds, enough.stops_allowed) == (True, 0)


def test_without_runs_nothing_is_supported():
    done = calibrate([], LoopDetector.default())
    assert (done.holds, done.share_after, done.runs_needed) == (False, 1.0, 299)


@pytest.mark.parametrize("options", [{"max_false_stops": 0}, {"confidence": 1}])
def test_a_share_that_is_none_is_refused(options):
    with pytest.raises(ValueError, match="between 0 and 1"):
        calibrate([streak(1)], repeat(), **options)


def test_a_detector_that_holds_code_is_refused():
    with pytest.raises(ValueError, match="inject_message"):
        calibrate([streak(1)], repeat(inject_message=str))


def test_every_type_of_detector_has_a_threshold_that_can_be_raised():
    for name, kind in TYPES.items():
        detector = kind(3)
        assert any(hasattr(detector, option) for option in COUNTS), name


def test_a_finding_below_every_threshold_lets_the_detector_only_tell():
    thresholds = Thresholds(repeat())
    place = thresholds.reached(LoopDetection("repeat", "odd", repetitions=1))
    assert thresholds.raise_one(place, "repeat")
    assert not thresholds.raise_one(place, "repeat")
    config = thresholds.config()
    assert config["escalations"]["repeat"]["actions"] == ["notify"]
    assert thresholds.detector().to_config() == config


# Promises

STEPS = st.tuples(
    st.sampled_from(["ls", "cat", "job_status"]),
    st.integers(0, 1),
    st.sampled_from(["a.py", "", "queued", "Error: not found"]),
)
BURSTS = st.lists(st.tuples(STEPS, st.integers(1, 9)), min_size=1, max_size=4)
RUNS = st.lists(
    BURSTS.map(lambda bursts: run_of(*[step for step, count in bursts for _ in range(count)])),
    min_size=1,
    max_size=6,
)
SOME_SHARE = st.sampled_from([0.01, 0.4, 0.6, 0.9])


@settings(max_examples=10)
@given(RUNS, st.sampled_from(sorted(PRESETS)), SOME_SHARE)
def test_replayed_with_its_configuration_the_good_runs_stay_under_the_bound(runs, preset, share):
    done = calibrate(runs, PRESETS[preset](), max_false_stops=share)
    again = tally(runs, LoopDetector.from_config(done.config))
    assert again == done.after
    assert len(again.stops) <= max(0, stops_allowed(len(runs), share))
    assert done.holds == (done.share_after <= share)


TOO_LONG = [run_of(("ls", 0, "a.py")), run_of(*[("ls", 0, "a.py")] * 30)]


@settings(max_examples=10)
@example(runs=TOO_LONG, preset="patient", share=0.01)
@given(RUNS, st.sampled_from(sorted(PRESETS)), SOME_SHARE)
def test_calibrating_the_result_again_changes_nothing(runs, preset, share):
    done = calibrate(runs, PRESETS[preset](), max_false_stops=share)
    again = calibrate(runs, LoopDetector.from_config(done.config), max_false_stops=share)
    assert again.config == done.config
    assert again.changes == ()


@settings(max_examples=10)
@given(RUNS, st.sampled_from(sorted(PRESETS)))
def test_the_same_runs_give_the_same_thresholds_whatever_their_names(runs, preset):
    renamed = [replace(run, run_id=f"{at}") for at, run in enumerate(runs)]
    assert calibrate(runs, PRESETS[preset]()).config == calibrate(renamed, PRESETS[preset]()).config


@settings(max_examples=10)
@given(RUNS)
def test_no_threshold_could_be_a_step_lower(runs):
    done = calibrate(runs, LoopDetector([RepeatDetector(3), StallDetector(3)]))
    for at, entry in enumerate(done.config["detectors"]):
        if entry["threshold"] > 3:
            lower = {**entry, "threshold": entry["threshold"] - 1}
            lower.update({k: lower["threshold"] for k in ("patience", "varied") if k in entry})
            detectors = [*done.config["detectors"]]
            detectors[at] = lower
            config = {**done.config, "detectors": detectors}
            assert tally(runs, LoopDetector.from_config(config)).stops


def test_policies_of_tools_are_declared_and_told_as_changes():
    declared = {"ls": ToolPolicy(exempt=True)}
    done = calibrate([streak(9)], repeat(), policies=declared)
    assert (len(done.before.stops), len(done.after.stops)) == (1, 0)
    assert [(c.detector, c.option, c.before, c.after) for c in done.changes] == [
        ("", "exempt of 'ls'", None, True)
    ]
    assert LoopDetector.from_config(done.config).tools["ls"].exempt


@pytest.mark.parametrize("factor", [1, 0.5, math.nan])
def test_a_largest_raise_that_allows_none_is_refused(factor):
    with pytest.raises(ValueError, match="max_raise must be more than 1"):
        calibrate([streak(9)], repeat(), max_raise=factor)
