"""A window comes back from plain JSON with all that a later round may be compared with."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import failed, step

from antiloop import LoopDetector, RepeatDetector, ToolCall
from antiloop.loop_detection import (
    CallLimitDetector,
    Escalation,
    LoopDetection,
    MonologueDetector,
    SecondOpinion,
    ToolPolicy,
)
from antiloop.loop_detection._evidence.outcome import Outcome
from antiloop.loop_detection._evidence.window import Window
from antiloop.loop_detection._ladder import Ladder
from antiloop.loop_detection._snapshot import pack, unpack

LONG = {"q": "x" * 90}
KEYS = "Mde4oG/D7vtY12sG79syawbv2zLD7vtY18Pu+1jX"
STEPS = {
    "a success": step("look", "a page", q="cats"),
    "a long answer": step("look", "word " * 100, q="dogs"),
    "silence": step("look", "", q="ants"),
    "nothing found": step("search", "No results found.", q="cats"),
    "a change": step("write_file", "saved", path="a.py"),
    "a silent change": step("write_file", "", path="b.py"),
    "a failure": failed("test", "Error: boom"),
    "a count": failed("test", "2 failed, 1 passed", n=1),
    "a tool that is missing": failed("frob", "Error: unknown tool 'frob'"),
    "invalid arguments": failed("frob", "Error: invalid arguments for 'frob'", n=2),
    "waiting": step("job_status", "still running, 40 % done", job=5),
    "a poll": step("poll", "{}", job=5),
    "a command": step("bash", "a.py", command="ls"),
    "a command that changes": step("bash", "", command="rm a.py"),
    "a result that is not known": step("look", None, q="bees"),
    "long arguments": step("look", "a page", **LONG),
}
FLAGS = (
    "mutates",
    "is_long",
    "changes_world",
    "is_polled",
    "is_command",
    "is_missing",
    "only_looks",
)
LOOSER = ("steady", "near", "wording", "left", "template")
POLICIES = {"poll": ToolPolicy(poll=True)}


def window_of(*rounds):
    window = Window(50, POLICIES, ["look", "x"])
    for number, steps in enumerate(rounds):
        calls = [
            ToolCall(made.tool_name, made.arguments, f"id-{number}-{at}", number)
            for at, (made, _) in enumerate(steps)
        ]
        window.append(calls, [result for _, result in steps])
    return window


def restored(window, shown=()):
    again = Window(50, POLICIES, ["look", "x"])
    unpack(json.loads(json.dumps(pack(window, shown))), again)
    return again


def test_each_kind_of_answer_is_kept_as_a_letter_of_its_own():
    letters = [each.value for each in Outcome]
    assert len(set(letters)) == len(letters)
    assert set(map(len, letters)) == {1}


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("name", STEPS)
def test_a_call_comes_back_with_its_evidence(name, place):
    others = [[step("other", f"text {n}", n=n)] for n in range(1)]
    rounds = [[STEPS[name]], [STEPS[name]]]
    window = window_of(*(rounds + others if place else rounds))
    again = restored(window)
    assert again.call_count == window.call_count
    for one, other in zip(window, again):
        for attribute in ("index", "call_id", "is_fresh", "is_new", "is_known", "is_change"):
            assert getattr(one, attribute) == getattr(other, attribute), attribute
        is_last = one in window.rounds[-1].evidence
        kept = ["steady", "near"] if one.features.result else ["near"]
        if is_last and one.features.result:
            kept.append("wording")
        if one.features.outcome.counts_down:
            kept += ["wording", "left"]
        if one.features.mutates and one.features.result:
            kept.append("template")
        for attribute in (*FLAGS, "tool", "call", "result", "outcome", *kept):
            expected, found = (getattr(each.features, attribute) for each in (one, other))
            assert expected == found, attribute
        for attribute in ("label", "is_whole"):
            expected, found = (getattr(each.features.shown, attribute) for each in (one, other))
            assert expected == found, attribute


def test_a_call_comes_back_without_its_texts():
    window = window_of([step("look", "a page", q="bees")])
    for is_kept, calls in ((True, window), (False, restored(window))):
        (known,) = (item.features for item in calls)
        assert known.has_texts is is_kept
        texts = (known.arguments, known.compared, known.text)
        assert [text is not None for text in texts] == [is_kept] * 3


SAVED = {
    "version": 10,
    "ladder": {
        "main": {
            "loops": [["repeat:b643ab73e1", 1, 1, 2, 2, 2, 2]],
            "calls": [["31d7b8a06f", 1, "c3eefb58d7", -1]],
            "forgotten": 0,
        },
        "own": {},
        "interventions": 1,
        "blocks": [],
    },
    "reported": "0f3de2dfde1d1355",
    "speech": {"replies": 0, "watches": []},
    "window": {
        "calls": 2,
        "seen": 2,
        "turn": 0,
        "clock": 0.0,
        "counts": {"3c01eba1": (2, 2)},
        "tools": ["look"],
        "rounds": [
            [[f"{at} 0 s {flags} f8 {KEYS} ", '{"at":"door"}', True, f"call-{at}"]]
            for at, flags in enumerate((204803, 204804))
        ],
        "round": 1,
        "keys": [],
        "known": "",
        "host": "[[],[0],[]]",
        "comments": "[[],2,[]]",
    },
    "suspicion": "0.0 0.0",
}


def test_a_snapshot_is_read_by_each_process_of_its_version():
    """What is written in another way has another version: a run may be resumed elsewhere."""
    limit = CallLimitDetector(per_tool={"look": 3})
    detector = LoopDetector([RepeatDetector(2), limit], Escalation(("notify", "block")))
    monitor, resumed = detector.monitor(), detector.monitor()
    looks = [ToolCall("look", {"at": "door"}, f"call-{n}", n) for n in range(4)]
    for look in looks[:2]:
        monitor.after([look], ["closed"])
    assert monitor.snapshot() == SAVED
    resumed.restore(json.loads(json.dumps(SAVED)))
    for look in looks:
        assert resumed.after([look], ["closed"]) == monitor.after([look], ["closed"])


def test_a_run_remembers_so_many_loops_and_no_more():
    ladder = Ladder(Escalation(("block",)))
    for number in range(60):
        calls = tuple(f"call {number}.{at}" for at in range(17))
        found = LoopDetection("repeat", "x" * 301, identity=f"loop {number}", members=calls)
        ladder.climb([found], number, 17 * number)
    told = ladder.to_dict()
    assert [loop[0] for loop in told["main"]["loops"]] == [f"loop {n}" for n in range(28, 60)]
    assert len(told["main"]["calls"]) == 50
    assert [block[0] for block in told["blocks"]] == [f"loop {n}" for n in range(52, 60)]
    for number, (_, _, refused, _, reason) in enumerate(told["blocks"], 52):
        assert refused == [f"call {number}.{at}" for at in range(1, 17)]
        assert reason == f"{'x' * 148}...{'x' * 148}"


@given(size=st.integers(1, 4))
def test_a_result_that_nobody_saw_stays_unseen_when_its_siblings_left_the_window(size):
    window = Window(size)
    hidden = [ToolCall("look", {"q": at}, round=0) for at in range(3)]
    window.append([*hidden, ToolCall("note", {}, round=0)], [None, None, None, "a new page"])
    again = Window(size)
    unpack(json.loads(json.dumps(pack(window))), again)
    assert [item.is_unseen for item in again] == [item.is_unseen for item in window]
    assert [item.is_unseen for item in again] == [item.features.tool == "look" for item in window]


@given(names=st.permutations("abcd"))
def test_a_refusal_shows_the_same_call_after_its_round_left_the_window_in_part(names):
    detector = LoopDetector(
        [CallLimitDetector(per_tool={"look": 1})], Escalation(("block",)), window=9
    )
    looks = [ToolCall("look", {"at": at}, f"id-{at}", 0) for at in names]
    unbroken, resumed = detector.monitor(), detector.monitor()
    unbroken.after(looks, ["a page"] * 4)
    for number in range(8):
        if number == 5:  # all four are still there, and no longer among the last calls
            resumed.restore(json.loads(json.dumps(unbroken.snapshot())))
        note = ToolCall("note", {"n": number})
        assert unbroken.after([note], [None]).action is resumed.after([note], [None]).action
        if number >= 5:
            assert resumed.before(looks[0]) == unbroken.before(looks[0])


@given(names=st.permutations("abcd"))
def test_an_opinion_shows_the_same_call_after_its_round_left_the_window_in_part(names):
    judge = SecondOpinion(lambda _: True, suspicion=0.05, gap=20)
    ladder = Escalation(("notify", "notify", "notify", "stop"))
    detector = LoopDetector([RepeatDetector(7)], ladder, window=7, second_opinion=judge)
    looks = [ToolCall("look", {"at": at}) for at in names]
    notes = [ToolCall("note", {"n": number}) for number in range(6)]
    unbroken, resumed = detector.monitor(), detector.monitor()
    for calls in (looks, looks, looks, looks, notes[:1], notes[1:4], notes[4:]):
        results = ["No results found." if call in looks else f"{call}" for call in calls]
        told = []
        for monitor in (unbroken, resumed):
            verdict = monitor.after(calls, results)
            told.append(monitor.answer(True) if verdict.case else verdict)
        assert told[0] == told[1]
        resumed.restore(json.loads(json.dumps(resumed.snapshot())))


def test_the_excerpts_for_a_judge_are_bounded():
    judge = SecondOpinion(lambda _: None, suspicion=1.0)
    monitor = LoopDetector([RepeatDetector(7)], second_opinion=judge).monitor()
    for number in range(30):
        calls = [ToolCall("tool" * 50, {"q": f"{number} {at} words " * 400}) for at in range(9)]
        monitor.after(calls, [f"{number} results " * 400] * 9)
    excerpts = monitor.snapshot()["excerpts"]["calls"]
    assert len(excerpts) == 100
    assert max(len(text) for _, _, _, *texts, _, _ in excerpts for text in texts) <= 240
    assert 50_000 < len(json.dumps(excerpts)) <= 70_000


def test_the_numbers_of_a_window_come_back():
    window = window_of(*([each] for each in STEPS.values()))
    window.start_turn()
    window.append([ToolCall("look", {"q": "new"}, "id", 99)], ["news"])
    again = restored(window)
    for attribute in ("call_count", "round_count", "turn_start", "turn_calls", "counts"):
        assert getattr(again, attribute) == getattr(window, attribute), attribute
    assert (again.count_of("look", False), again.count_of("look", True)) == (6, 1)
    assert (again.count_of("x", False), again.count_of("x", True)) == (0, 0)
    assert [each.number for each in again.rounds[-1:]] == [99]
    again.append([ToolCall("look", {"q": "more"}, "id2", 99)], ["more"])
    assert len(again.rounds[-1].evidence) == 2


def test_an_empty_window_comes_back():
    packed = pack(Window(50))
    assert packed == {
        "calls": 0,
        "seen": 0,
        "turn": 0,
        "clock": 0.0,
        "counts": {},
        "tools": [],
        "rounds": [],
        "round": None,
        "keys": [],
        "known": "",
        "host": "[[],[],[]]",
        "comments": "[[],0,[]]",
    }
    again = restored(Window(50))
    assert (again.rounds, again.call_count) == ([], 0)


def test_only_what_a_detection_may_name_keeps_its_label():
    """That is: the last five calls, all of the last round, and what is asked for."""
    singles = [[step("look", "text", n=number)] for number in range(8)]
    window = window_of(*singles)
    rounds = pack(window)["rounds"]
    assert [isinstance(each, str) for [each] in rounds] == [True] * 3 + [False] * 5
    assert [isinstance(each, str) for [each] in pack(window, [1])["rounds"]][:3] == [
        True,
        False,
        True,
    ]
    assert rounds[-1][0][1:] == ['{"n":7}', True, "id-7-0"]
    wide = window_of(*singles, [step("look", "text", n=20 + number) for number in range(7)])
    rounds = pack(wide)["rounds"]
    assert all(isinstance(each, str) for [each] in rounds[:-1])
    assert [each[3] for each in rounds[-1]] == [f"id-8-{at}" for at in range(7)]
    again = restored(window)
    assert [item.features.shown.label for item in again][:4] == ["", "", "", '{"n":3}']
    assert [item.call_id for item in again][:4] == [None, None, None, "id-3-0"]
    assert [item.features.shown.value for item in again][-1] == {"n": 7}
    assert [
        item.features.shown.value for item in restored(window_of([STEPS["long arguments"]]))
    ] == ['{"q":"' + "x" * 22 + "..." + "x" * 26 + '"}']


def test_a_snapshot_has_a_part_for_each_thing_that_is_known():
    monitor = LoopDetector([RepeatDetector(2), MonologueDetector(3)], Escalation()).monitor()
    monitor.said("Let me look.")
    for _ in range(3):
        monitor.after([ToolCall("look", {"q": "cats"})], ["a page"])
    monitor.said("Let me look.")
    snapshot = monitor.snapshot()
    assert list(snapshot) == ["version", "ladder", "reported", "speech", "window", "suspicion"]
    [[identity, *numbers]] = snapshot["ladder"]["main"]["loops"]
    [[call, rung, answer, since]] = snapshot["ladder"]["main"]["calls"]
    assert identity.startswith("repeat:")
    assert (numbers, rung, since) == ([2, 2, 3, 3, 3, 3], 2, -1)
    assert len(answer) == len(call)
    assert snapshot["ladder"]["main"]["forgotten"] == 0
    assert snapshot["ladder"]["own"] == {}
    assert snapshot["ladder"]["interventions"] == 2
    message = "Tool 'look' was called 3 times in a row with the same arguments."
    assert snapshot["ladder"]["blocks"] == [[identity, "repeat", [call], False, message]]
    assert snapshot["reported"] == ""
    assert snapshot["speech"]["replies"] == 2
    assert snapshot["speech"]["watches"][0]["count"] == 1
    assert (snapshot["window"]["calls"], snapshot["window"]["seen"]) == (3, 3)
    assert snapshot["window"]["tools"] == ["look"]
    assert snapshot["version"] == 10
