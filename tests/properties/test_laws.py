"""What holds for every run, whatever its calls and results."""

import json
from itertools import cycle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import antiloop.loop_detection._evidence.window as window_module
from antiloop import (
    LoopDetector,
    PingPongDetector,
    RepeatDetector,
    StallDetector,
    ToolCall,
    ToolResult,
)
from antiloop.loop_detection._evidence.fingerprint import text_fingerprint
from antiloop.loop_detection._evidence.outcome import REFUSED_MARKER
from antiloop.loop_detection._evidence.window import Window

ORDINARY = 10_000
"""Characters of a snapshot at most, where names, ids and arguments are of ordinary length."""

PRESETS = [LoopDetector.default, LoopDetector.escalating]
presets = pytest.mark.parametrize("make", PRESETS, ids=lambda make: make.__name__)
makes = st.sampled_from(PRESETS)

TOOLS = ("look", "read", "update_page", "shell", "wait_for_job")
ANSWERS = (
    *(None, "", "[]", "No results found.", "alpha beta", "gamma delta", "ok", "true"),
    *("Error: page 3 is missing", "Error: page 4 is missing", "Unknown tool: look"),
    *(
        "still running, 10% done",
        "still running, 20% done",
        "built at 12:00:01",
        "built at 12:00:02",
    ),
    *("the same long text " * 40, "line 1: a\nline 2: b", "line 1: a\nline 2: b\nline 3: b"),
    *(f"{REFUSED_MARKER} not run", ToolResult("boom", is_error=True)),
)
ARGUMENTS = (
    {},
    {"q": "cats dogs"},
    {"q": "dog, cat"},
    {"page": 3},
    {"page": 4},
    {"a": 1, "b": [2]},
)

steps = st.tuples(st.sampled_from(TOOLS), st.sampled_from(ARGUMENTS), st.sampled_from(ANSWERS))
rounds = st.lists(steps, min_size=1, max_size=4)


@st.composite
def runs(draw, max_size=30):
    """Draw a run of rounds of steps with stretches that look like loops, and others."""
    run = []
    for _ in range(draw(st.integers(1, 4))):
        few = draw(st.lists(rounds, min_size=1, max_size=3))
        (tool, arguments, answer), *_ = few[0]
        count = draw(st.integers(1, 9))
        run += draw(
            st.sampled_from(
                [
                    few * count,
                    [[(tool, {"n": f"word{n}"}, answer)] for n in range(count)],
                    [[(tool, {**arguments, "request_id": n}, answer)] for n in range(count)],
                    [[(tool, arguments, each)] for each in ANSWERS[-count:]],
                ]
            )
            | st.lists(st.sampled_from(few), min_size=1, max_size=12)
        )
    return run[:max_size]


def in_calls(run, arguments=lambda value: value, ids=lambda number: None):
    """Return calls and results of a run, the arguments and ids of each changed."""
    calls, results = [], []
    for number, each in enumerate(run):
        for tool, given_arguments, result in each:
            made = ToolCall(tool, arguments(given_arguments), ids(len(calls)), number)
            calls.append(made)
            results.append(result)
    return calls, results


def verdicts(make, run, **changes):
    """Return the verdict of a new monitor after each round of a run."""
    monitor = make().monitor()
    calls, results = in_calls(run, **changes)
    return [monitor.after(*batch) for batch in batches(run, calls, results)]


def batches(run, calls, results):
    """Cut calls and results into those of each round."""
    start = 0
    for each in run:
        yield calls[start : start + len(each)], results[start : start + len(each)]
        start += len(each)


def decided(verdict):
    """What a verdict says, apart from words and names."""
    found = verdict.detection
    return verdict.action, found and (found.detector_name, found.indices, found.period)


def said(verdict):
    """All of a verdict but the long form of arguments, which a snapshot does not keep."""
    return verdict.action, verdict.message, verdict.detection


@given(make=makes, run=runs())
def test_call_ids_and_the_order_of_keys_change_nothing(make, run):
    def backwards(arguments):
        return dict(reversed(list(arguments.items())))

    one = verdicts(make, run)
    other = verdicts(make, run, arguments=backwards, ids="c{}".format)
    assert list(map(decided, one)) == list(map(decided, other))


@given(make=makes, run=runs())
def test_arguments_as_json_text_change_nothing(make, run):
    one = verdicts(make, run)
    other = verdicts(make, run, arguments=json.dumps)
    assert list(map(said, one)) == list(map(said, other))


@given(make=makes, run=runs(), ends=st.lists(st.text(" \n", max_size=3), min_size=1, max_size=9))
def test_spaces_at_the_ends_of_arguments_change_nothing(make, run, ends):
    endings = cycle(ends)

    def spaced(arguments):
        texts = {name: each for name, each in arguments.items() if isinstance(each, str)}
        return {**arguments, **{name: f"{each}{next(endings)}" for name, each in texts.items()}}

    one, other = verdicts(make, run), verdicts(make, run, arguments=spaced)
    assert list(map(decided, one)) == list(map(decided, other))


@given(make=makes, run=runs())
def test_what_is_changed_in_place_after_it_came_changes_nothing(make, run):
    expected = verdicts(make, run)
    monitor, said_then = make().monitor(), []
    calls, results = in_calls(run, arguments=dict)
    for batch, answers in batches(run, calls, results):
        said_then.append(monitor.after(batch, answers))
        for call in batch:
            call.arguments.clear()
            call.arguments["changed"] = [*map(str, batch)]
    assert said_then == expected


@given(make=makes, run=runs())
def test_calls_that_are_reused_with_other_arguments_are_other_calls(make, run):
    reused = {tool: ToolCall(tool, {}) for tool in TOOLS}
    monitor, other = make().monitor(), make().monitor()
    for (tool, arguments, result), *_ in run:
        reused[tool].arguments.clear()
        reused[tool].arguments.update(arguments)
        verdict = monitor.after([reused[tool]], [result])
        assert verdict == other.after([ToolCall(tool, arguments)], [result])


@given(make=makes, sizes=st.lists(st.integers(1, 4), max_size=25))
def test_calls_and_results_that_all_differ_are_no_loop(make, sizes):
    numbers = iter(range(1000))
    run = [
        [
            ("read", {"name": f"file{number:03}x"}, f"{text_fingerprint(str(number))[:9]} words")
            for number in (next(numbers) for _ in range(size))
        ]
        for size in sizes
    ]
    assert {verdict.action.value for verdict in verdicts(make, run)} <= {"continue"}


def first_found(make, run):
    """Return the first finding of a check after each round, and after which."""
    calls, results = in_calls(run)
    length = 0
    for number, each in enumerate(run):
        length += len(each)
        found = make().check(calls[:length], results[:length])
        if found is not None:
            return number, found
    return None


@given(make=makes, run=runs())
def test_step_by_step_finds_what_a_check_of_the_prefix_finds(make, run):
    stepwise = [
        (number, verdict.detection)
        for number, verdict in enumerate(verdicts(make, run))
        if verdict.detection is not None
    ]
    expected = first_found(make, run)
    if expected is None:
        assert stepwise == []
    else:
        (number, one), (expected_number, other) = stepwise[0], expected
        assert number == expected_number
        assert (one.detector_name, one.identity) == (other.detector_name, other.identity)
        assert (one.indices, one.message) == (other.indices, other.message)


@given(make=makes, run=runs())
def test_no_tool_is_believed_that_a_call_was_refused(make, run):
    calls, results = in_calls(run)
    other = REFUSED_MARKER.replace("loop", "pool")
    others = [
        each.replace(REFUSED_MARKER, other) if type(each) is str else each for each in results
    ]
    for length in range(len(calls) + 1):
        one, two = (make().check(calls[:length], each) for each in (results, others))
        assert (one and (one.detector_name, one.indices)) == (
            two and (two.detector_name, two.indices)
        )


@given(make=makes, run=runs(), later=runs())
def test_a_verdict_never_depends_on_what_comes_later(make, run, later):
    assert verdicts(make, run + later)[: len(run)] == verdicts(make, run)


@settings(max_examples=300)
@given(make=makes, run=runs(), data=st.data())
def test_the_order_inside_a_round_does_not_matter(make, run, data):
    """Not that of equal calls with different answers either."""
    doubled = [
        each
        + [(tool, arguments, data.draw(st.sampled_from(ANSWERS))) for tool, arguments, _ in each]
        for each in run
    ]
    shuffled = [data.draw(st.permutations(each)) for each in doubled]
    one, other = (verdicts(make, each) for each in (doubled, shuffled))
    assert [each.action for each in one] == [each.action for each in other]


@given(run=runs(), data=st.data())
def test_parallel_calls_that_are_told_one_by_one_count_as_those_told_at_once(run, data):
    shuffled = [data.draw(st.permutations(each)) for each in run]
    at_once, one_by_one = Window(), Window()
    for calls, results in batches(run, *in_calls(run)):
        at_once.append(calls, results)
    for call, result in zip(*in_calls(shuffled)):
        one_by_one.append([call], [result])
    for one, other in zip(at_once.rounds, one_by_one.rounds):
        assert evidence_of(one) == evidence_of(other)


def evidence_of(judged):
    """What a round holds, whatever the order of its calls."""
    return [
        (item.call, item.result, item.outcome, item.is_fresh, item.is_new, item.is_known)
        for item in judged.sorted_evidence
    ]


@settings(max_examples=8)
@given(make=makes, run=runs())
def test_a_restored_run_decides_as_the_unbroken_one(make, run):
    unbroken = verdicts(make, run)
    calls, results = in_calls(run)
    pieces = list(batches(run, calls, results))
    for cut in range(len(run)):
        monitor = make().monitor()
        for piece in pieces[:cut]:
            monitor.after(*piece)
        text = json.dumps(monitor.snapshot())
        assert len(text) <= ORDINARY
        restored = make().monitor()
        restored.restore(json.loads(text))
        assert list(map(said, [restored.after(*piece) for piece in pieces[cut:]])) == list(
            map(said, unbroken[cut:])
        )


@settings(max_examples=10)
@given(make=makes, run=runs(), count=st.integers(40, 200))
def test_a_snapshot_stays_small_however_long_the_run(make, run, count):
    endless = (run * count)[:count]
    monitor = make().monitor()
    calls, results = in_calls(endless, ids="call_{:032}".format)
    for piece in batches(endless, calls, results):
        monitor.after(*piece)
    assert len(json.dumps(monitor.snapshot())) <= ORDINARY


class Counted:
    """Counts the features that are made."""

    def __init__(self, kind):
        self.kind = kind
        self.count = 0

    def of(self, *arguments):
        self.count += 1
        return self.kind.of(*arguments)


@presets
@pytest.mark.parametrize("length", [100, 1000])
def test_the_cost_of_a_check_is_bounded_by_the_window(make, length, monkeypatch):
    counted = Counted(window_module.CallFeatures)
    monkeypatch.setattr(window_module, "CallFeatures", counted)
    calls = [ToolCall("read", {"page": number}) for number in range(length)]
    make().check(calls, [f"{text_fingerprint(str(n))} words" for n in range(length)])
    assert counted.count == 50


@presets
def test_the_cost_of_a_step_does_not_grow_with_the_run(make, monkeypatch):
    counted = Counted(window_module.CallFeatures)
    monkeypatch.setattr(window_module, "CallFeatures", counted)
    monitor = make().monitor()
    for number in range(300):
        monitor.record_call("read", {"page": number}, f"{text_fingerprint(str(number))} words")
    assert counted.count == 300


def naive_streak(run, same):
    """Count, for each step of the last round, the rounds at the end that hold one like it."""
    longest = 0
    for step in run[-1] if run else ():
        count = 0
        while count < len(run) and any(same(step, other) for other in run[-1 - count]):
            count += 1
        longest = max(longest, count)
    return longest


def backwards(each):
    """Return steps by the fingerprints of their results, unknown ones first."""
    return sorted(each, key=lambda step: fingerprint_key(step[2]), reverse=True)


def fingerprint_key(result):
    text = result_text(result)
    return text is None, text_fingerprint(text or "")


def result_text(result):
    return result.text if isinstance(result, ToolResult) else result


@given(run=runs(), threshold=st.integers(2, 5))
def test_a_repeat_is_what_it_says(run, threshold):
    expected = naive_streak(run, lambda one, other: one[:2] == other[:2])
    found = RepeatDetector(threshold).check(*in_calls(run))
    assert (found.repetitions if found else 0) == (expected if expected >= threshold else 0)


@given(run=runs(), threshold=st.integers(2, 5))
def test_a_stall_is_what_it_says(run, threshold):
    # Of equal calls in one round the one with the smallest fingerprint of its result counts.
    seen = [
        list({(tool, str(args)): (tool, args, r) for tool, args, r in backwards(each)}.values())
        for each in run
    ]
    expected = naive_streak(
        seen,
        lambda one, other: (
            one[0] == other[0]
            and one[2] is not None
            and result_text(one[2]) == result_text(other[2])
        ),
    )
    found = StallDetector(threshold).check(*in_calls(run))
    assert (found.repetitions if found else 0) == (expected if expected >= threshold else 0)


def naive_laps(names, longest, repetitions):
    """Return period and laps of the shortest cycle at the end, (0, 0) where there is none."""
    for period in range(2, longest + 1):
        lap = names[-period:]
        laps = 0
        while (
            len(names) >= period * (laps + 1)
            and lap == names[len(names) - period * (laps + 1) : len(names) - period * laps]
        ):
            laps += 1
        if laps >= repetitions and len(set(lap)) > 1:
            return period, laps
    return 0, 0


@given(
    names=st.lists(st.sampled_from("abc"), max_size=40),
    length=st.integers(2, 7),
    repetitions=st.integers(2, 4),
)
def test_a_ping_pong_is_what_it_says(names, length, repetitions):
    calls = [ToolCall(name) for name in names]
    for match in ("content", "tool_names"):
        found = PingPongDetector(length, repetitions, match=match).check(calls, [])
        expected = naive_laps(names, length, repetitions)
        assert ((found.period, found.repetitions) if found else (0, 0)) == expected


@given(run=runs(), size=st.integers(2, 60))
def test_every_window_of_a_run_is_made_of_its_last_calls(run, size):
    calls, results = in_calls(run)
    for item in Window(size).fill(calls, results):
        assert calls[item.index].round >= calls[max(0, len(calls) - size)].round
        assert item.features.tool == calls[item.index].tool_name
