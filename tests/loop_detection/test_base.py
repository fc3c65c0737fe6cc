"""What holds for every detector that looks at a window, asked on its own."""

import json
from dataclasses import dataclass
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import ask, in_rounds, step

from antiloop import LoopDetectedError, LoopDetection, LoopDetector, ToolCall, ToolResult
from antiloop.exceptions import SnapshotError
from antiloop.loop_detection import (
    BaseDetector,
    CallLimitDetector,
    NoEffectDetector,
    PingPongDetector,
    RepeatDetector,
    StallDetector,
    ToolPolicy,
)
from antiloop.loop_detection._detectors.base import WindowDetector, detection, keys_of
from antiloop.loop_detection._evidence.window import Window
from antiloop.loop_detection._registry import DETECTORS

ALPHABET = [
    step(tool, result, n=n)
    for tool in ("look", "save")
    for n in (1, 2)
    for result in (None, "alpha beta", "Error: no such page", "still running")
]
RUNS = st.lists(st.lists(st.sampled_from(ALPHABET), min_size=1, max_size=4), max_size=30)
STREAKS = [
    RepeatDetector(2),
    RepeatDetector(2, require_same_result=True, patience=4),
    StallDetector(2),
    StallDetector(2, only_fruitless=True, varied=3),
    PingPongDetector(3, 2),
    PingPongDetector(2, 2, patience=4),
    PingPongDetector(2, 2, match="tool_names"),
    NoEffectDetector(2),
]


ALL = [each for each in LoopDetector.escalating().detectors if isinstance(each, WindowDetector)]
IGNORING = [each for each in STREAKS + ALL if each.ignores_new_rounds]
NEW = [step(tool, f"page {n}", n=n) for tool in ("look", "save", "finish") for n in range(3, 9)]
NEW += [step("save", "saved", n=n) for n in range(9, 15)]


@pytest.mark.parametrize("detector", STREAKS, ids=lambda each: each.name)
@given(run=RUNS, repeated=st.integers(0, 8))
def test_asked_alone_a_detector_sees_what_it_would_see_of_the_whole_run(detector, run, repeated):
    calls, results = in_rounds(*run, *(run[-3:] * repeated))
    whole = Window(1_000).fill(calls, results)
    assert detector.check(calls, results) == detector.find(whole)


@given(run=st.lists(st.lists(st.sampled_from(NEW + ALPHABET), min_size=1, max_size=3), max_size=20))
def test_after_news_no_detector_finds_anything_that_ignores_new_rounds(run):
    window = Window()
    for steps in run:
        window.append(*in_rounds(steps))
        if window.rounds[-1].is_new:
            assert [each.find(window) for each in IGNORING] == [None] * len(IGNORING)


def test_a_call_that_finishes_the_run_is_never_new():
    window = Window()
    assert not window.ends_new
    for tool, is_new in (("look", True), ("finish", False), ("save", True)):
        window.append([ToolCall(tool, {"n": 1})], [f"page of {tool}"])
        assert window.ends_new is is_new


def test_a_new_change_is_new_though_it_is_acknowledged_as_the_last_one():
    window = Window()
    for n in range(3):
        for tool in ("look", "save"):
            window.append([ToolCall(tool, {"n": n})], [f"{tool}: all well"])
            assert window.ends_new is (n == 0 or tool == "save")


def test_only_tool_names_or_results_alone_may_end_a_loop_with_a_new_round():
    asked = [each for each in STREAKS + ALL if not each.ignores_new_rounds]
    assert asked == [STREAKS[2], STREAKS[6]]


# rounds that a window must hold, rounds of a first finding at most, never ends with a new round
ROUNDS = {
    "call_limit": (1, 1, False),
    "failure_streak": (5, 50, True),
    "near_repeat": (4, 50, True),
    "no_effect": (3, 50, True),
    "persistent_failure": (5, 50, True),
    "ping_pong": (6, 6, True),
    "recurrence": (4, 50, True),
    "repeat": (3, 3, True),
    "repeated_finish": (3, 50, True),
    "stagnation": (2, 50, True),
    "stall": (3, 3, False),
    "standstill": (30, 30, True),
    "unknown_tool": (3, 50, True),
}


@pytest.mark.parametrize("name", ROUNDS)
def test_each_detector_says_of_how_many_rounds_a_loop_of_it_is(name):
    made = DETECTORS[name](*((1,) if name == "call_limit" else ()))
    assert (made.span, made.reach, made.ignores_new_rounds) == ROUNDS[name]


def test_a_find_of_its_own_is_asked_after_every_round():
    class Counting(RepeatDetector):
        def find(self, window):
            return detection("repeat", f"{len(window.rounds)} rounds.", window.rounds[-1].evidence)

    assert RepeatDetector.ignores_new_rounds
    assert not Counting.ignores_new_rounds
    verdict = LoopDetector([Counting()]).monitor().record_call("look", {}, "a page")
    assert verdict.message.startswith("1 rounds.")


def test_the_names_of_new_rounds_may_be_a_cycle():
    monitor = LoopDetector([PingPongDetector(2, 2, match="tool_names")]).monitor()
    verdicts = [
        monitor.record_call(("look", "read")[n % 2], {"n": n}, f"page {n}") for n in range(4)
    ]
    assert [verdict.detection is not None for verdict in verdicts] == [False, False, False, True]


@pytest.mark.parametrize(
    "detector", [*LoopDetector.escalating().detectors, CallLimitDetector(1)], ids=lambda d: d.name
)
def test_a_run_without_calls_is_no_loop(detector):
    assert detector.check([], []) is None


@pytest.mark.parametrize("detector", LoopDetector.escalating().detectors, ids=lambda d: d.name)
def test_one_call_is_no_loop(detector):
    for made in ALPHABET:
        assert ask(detector, made) is None


def test_more_results_than_calls_do_no_harm():
    calls, results = in_rounds(*[[ALPHABET[0]]] * 3)
    assert RepeatDetector(3).check(calls, [*results, "one", "too", "many"]) is not None


def test_a_detector_that_finds_nothing_cannot_be_made():
    with pytest.raises(TypeError, match="abstract"):
        BaseDetector()


def test_a_detection_becomes_an_error_that_carries_it():
    found = ask(RepeatDetector(2), *[step("ls")] * 2)
    error = found.as_error()
    assert isinstance(error, LoopDetectedError)
    assert (str(error), error.detector, error.details) == (
        f"{found.message} (detector: repeat)",
        "repeat",
        found.details,
    )
    assert error.detection is found


def test_long_arguments_are_shortened_in_the_middle():
    found = ask(RepeatDetector(2), *[step("write", text="<" + "x" * 5000 + ">")] * 2)
    (shown,) = found.details["calls"]
    assert len(shown["arguments"]) <= 60
    assert shown["arguments"].startswith('{"text":"<xxx')
    assert shown["arguments"].endswith('xxx>"}')
    assert len(found.details["arguments"]) <= 60


def test_a_message_of_six_hundred_characters_is_told_whole():
    window = Window().fill(*in_rounds([step("look")]))
    for length, told in ((600, "x" * 600), (601, f"{'x' * 298}...{'x' * 298}")):
        assert detection("mine", "x" * length, list(window)).message == told


def test_a_detection_names_five_calls_at_most():
    lap = [step(f"tool{n}", n=n) for n in range(9)]
    found = ask(PingPongDetector(9, 2), *lap * 2)
    assert [each["tool"] for each in found.details["calls"]] == [f"tool{n}" for n in range(4, 9)]
    assert len(found.members) == 9


def test_a_detection_may_say_very_little():
    found = LoopDetection("mine", "Something is odd.")
    assert (found.details, found.indices, found.repetitions) == ({}, (), 0)
    assert found.as_error().detector == "mine"


class Keyed(WindowDetector):
    """Find one key three times in a row, where there is one."""

    name = "keyed"
    span = 3

    def __init__(self, rule):
        self.keys = {"it": rule}

    def find(self, window):
        keys = [passed.evidence[0].key("it") for passed in window.rounds[-3:]]
        if len(keys) < 3 or None in keys or len(set(keys)) > 1:
            return None
        return self.detection("Three times.", [passed.evidence[0] for passed in window.rounds[-3:]])


@pytest.mark.parametrize(
    ("value", "count"),
    [("text", 3), (7, 3), (2**40 - 1, 3), (2**40, None), (-1, None), (None, None), (b"", None)],
)
def test_a_key_is_a_text_or_a_number(value, count, caplog):
    detector = Keyed(lambda call, result: value)
    found = detector.check([ToolCall("f", {"n": n}) for n in range(3)], ["a", "b", "c"])
    assert (found and found.repetitions) == count
    assert len(caplog.records) == (value is not None and count is None)


def test_a_rule_that_raises_is_logged_once_with_its_place_and_the_value(caplog):
    monitor = LoopDetector([Keyed(lambda call, result: -len(call.arguments))]).monitor()
    for n in range(5):
        monitor.record_call("f", {"n": n})
    assert caplog.messages == [
        "key 'it' of detector 'keyed' raised: the call has none; this is logged once"
    ]
    assert "must be a text or a whole number from 0 to 1099511627775, got -1" in caplog.text


@pytest.mark.parametrize("keys", [["it"], {"it": "text"}, {7: len}, None])
def test_keys_map_names_to_functions(keys):
    class Listed(Careless):
        pass

    Listed.keys = keys
    for ask_it in (lambda: LoopDetector([Listed(None)]), lambda: Listed(None).check([], [])):
        with pytest.raises(TypeError, match="'careless': keys must map names to functions") as e:
            ask_it()
        assert f"got {keys!r}; write keys = {{'id': id_of}}" in str(e.value)


def test_a_key_that_nobody_declares_is_named_with_those_that_are_declared():
    (item,) = Window(keys=keys_of([Keyed(len)])).fill([ToolCall("f")], [])
    with pytest.raises(KeyError, match="no detector declares the key 'id'; declared: 'it'"):
        item.key("id")
    (item,) = Window().fill([ToolCall("f")], [])
    with pytest.raises(KeyError, match="the key 'it'; declared: none"):
        item.key("it")


@pytest.mark.parametrize("given", [[], [Window().fill([ToolCall("f")], []).rounds[0]]])
def test_a_detection_is_made_of_calls(given):
    with pytest.raises(TypeError, match="takes the calls of the loop, one or more, got") as e:
        Careless(None).detection("Again.", given)
    assert f"got {given!r}; pass the items of `evidence`" in str(e.value)


def test_a_rule_gets_plain_arguments_and_a_result():
    given = []
    detector = Keyed(lambda call, result: given.append((call, result)))
    detector.check([ToolCall("f", '{"n": 1.0}'), ToolCall("g")], ["Error: no"])
    assert given == [
        (ToolCall("f", {"n": 1}), ToolResult("Error: no", is_error=True)),
        (ToolCall("g", {}), None),
    ]


def test_a_detection_has_the_details_of_its_detector():
    (item,) = Window().fill([ToolCall("f")], ["a"])
    found = Careless(None).detection("Again.", [item], count=3, tool="f")
    assert (found.details["count"], found.details["tool"]) == (3, "f")


def test_two_detectors_may_not_mean_different_things_by_one_name():
    rule = len
    assert LoopDetector([Keyed(rule), Keyed(rule)])
    with pytest.raises(ValueError, match="'keyed' declares the key 'it' in another way"):
        LoopDetector([Keyed(rule), Keyed(str)])


def restored(state, *detectors):
    monitor = LoopDetector(detectors).monitor()
    monitor.restore(json.loads(json.dumps(state)))
    return monitor


def calls_in_vain(monitor, count):
    verdicts = [monitor.record_call("f", {"n": monitor.call_count}, "a") for _ in range(count)]
    return [verdict.detection is not None for verdict in verdicts]


def test_a_key_that_a_snapshot_does_not_hold_is_none_for_the_calls_before():
    before = LoopDetector([RepeatDetector(3)]).monitor()
    calls_in_vain(before, 3)
    monitor = restored(before.snapshot(), Keyed(lambda call, result: "same"), RepeatDetector(3))
    assert [item.key("it") for item in monitor.window] == [None] * 3
    assert [item.result for item in monitor.window] == [item.result for item in before.window]
    assert calls_in_vain(monitor, 3) == [False, False, True]
    # with them, and without them again
    assert calls_in_vain(restored(monitor.snapshot(), Keyed(lambda *_: "same")), 1) == [True]
    assert calls_in_vain(restored(monitor.snapshot(), RepeatDetector(3)), 1) == [False]


def test_a_key_may_have_the_name_of_what_is_kept_of_each_call():
    class Results(Careless):
        keys: ClassVar = {"result": lambda call, result: 7, "shape": lambda call, result: None}

    before = LoopDetector([Results(None)]).monitor()
    before.record_call("f", {"n": 1}, "a")
    (item,), (again,) = before.window, restored(before.snapshot(), Results(None)).window
    for name in ("result", "shape"):
        assert item.key(name) == again.key(name)
        assert getattr(item.features, name) == getattr(again.features, name)


@pytest.mark.parametrize(("keys", "shift"), [([], 1), (["it"], 20), (["it"], -20)])
def test_keys_that_do_not_fit_their_names_are_damage(keys, shift):
    before = LoopDetector([Keyed(lambda call, result: 7)]).monitor()
    before.record_call("f", {"n": 1}, "a")
    state = before.snapshot()
    state["window"]["keys"] = keys
    step = state["window"]["rounds"][0][0]
    parts = step[0].split(" ")
    mask = int(parts[4], 16)
    parts[4] = f"{mask << shift if shift > 0 else mask >> -shift:x}"
    step[0] = " ".join(parts)
    with pytest.raises(SnapshotError, match=r"the snapshot is damaged: .* keys for '"):
        restored(state, RepeatDetector(3))


class Careless(WindowDetector):
    """Find something, with as little care as the caller gave."""

    name = "careless"

    def __init__(self, found):
        self.found = found

    def find(self, window):
        return self.found


def test_what_is_no_finding_is_logged_and_passed_over(caplog):
    monitor = LoopDetector([Careless("a loop"), RepeatDetector(2)], "stop").monitor()
    assert [monitor.record_call("ls").action.value for _ in "12"] == ["continue", "stop"]
    expected = "Careless.find must return a LoopDetection or None, got 'a loop'"
    assert expected in caplog.text
    with pytest.raises(TypeError, match=expected):
        Careless("a loop").check([ToolCall("ls")], [])


def test_an_empty_window_is_not_searched(caplog):
    class First(Careless):
        def find(self, window):
            return window.rounds[0].key("it")

    detector = LoopDetector([First(None)], tools={"plan": ToolPolicy(exempt=True)})
    assert First(None).check([], []) is None
    assert detector.check([], []) is None
    assert detector.monitor().record_call("plan").action.value == "continue"
    assert not caplog.records


def test_a_finding_that_says_little_is_completed():
    found = LoopDetection("careless", "Again.")
    monitor = LoopDetector([Careless(found)], "block").monitor()
    verdict = monitor.record_call("ls", {"at": 1}, "a")
    assert verdict.action.value == "block"
    assert verdict.detection.members
    assert monitor.before(ToolCall("ls", {"at": 1})).action.value == "block"
    calls = [ToolCall("ls", {"at": n}) for n in range(9)]
    assert Careless(found).check(calls, []) == found


@pytest.mark.parametrize("is_frozen", [True, False])
def test_a_dataclass_may_be_a_detector_if_it_is_frozen(is_frozen):
    @dataclass(frozen=is_frozen)
    class Plain(WindowDetector):
        threshold: int = 3

        def find(self, window):
            return None

    if is_frozen:
        assert Plain(4).threshold == 4
    else:
        with pytest.raises(AttributeError, match=r"make another Plain \(a dataclass must be"):
            Plain(4)
