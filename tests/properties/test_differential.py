"""One run, judged in every way there is: the verdicts are the same."""

import copy
import hashlib
import json
import os
import pickle
import random
import subprocess
import sys
from dataclasses import replace
from typing import ClassVar

from hypothesis import example, given
from hypothesis import strategies as st

from antiloop import LoopDetector, LoopPolicy, RepeatDetector, ToolCall, ToolResult
from antiloop.explanation import explain
from antiloop.loop_detection import (
    CallLimitDetector,
    Escalation,
    LoopAction,
    NearRepeatDetector,
    Opinion,
    RecurrenceDetector,
    SecondOpinion,
    ToolPolicy,
    UnknownToolDetector,
    WindowDetector,
)
from antiloop.loop_detection._evidence.outcome import REFUSED_MARKER
from antiloop.traces import RecordedRun, replay

LONG = "mcp__a_server_with_a_name__" + "and_a_tool_with_another_" * 12


def ladders():
    """Return a detector whose ladders are full, with tools that are counted."""
    return LoopDetector(
        [
            RecurrenceDetector(3),
            NearRepeatDetector(3),
            UnknownToolDetector(3),
            CallLimitDetector(20, per_tool={"look": 4, LONG: 3, "": 2, "*": 2}),
        ],
        Escalation(("notify", "notify", "block", "block"), every=2),
        escalations={"call_limit": Escalation(("block",))},
    )


def declared():
    """Return a detector to which much is declared, with a window that is soon full."""
    tools = {
        "look": ToolPolicy(poll=True),
        "press": ToolPolicy(idempotent=False),
        "update_page": ToolPolicy(key=["page"], strip=["at"]),
        "shell": ToolPolicy(thresholds={"repeat": 2}),
        LONG: ToolPolicy(mutates=True),
    }
    return LoopDetector([RepeatDetector(3), *LoopDetector.escalating().detectors[1:]], tools=tools)


def small():
    """Return a detector whose window holds few calls."""
    detectors = [RepeatDetector(2), RecurrenceDetector(3)]
    return LoopDetector(detectors, LoopPolicy.BLOCK, window=5)


def first_number(call, result):
    digits = [each for each in str(call.arguments) if each.isdigit()]
    return int(digits[0]) if digits else None


def length_of_answer(call, result):
    return None if result is None else f"{len(result.text)}"


class SameLength(WindowDetector):
    """Find answers of one length to calls whose first number does not get smaller."""

    name = "same_length"
    span = 3
    keys: ClassVar = {"number": first_number, "length": length_of_answer}

    def find(self, window):
        row = []
        for passed in reversed(window.rounds):
            item = passed.sorted_evidence[0]
            if None in (item.key("number"), item.key("length")):
                break
            if row and item.key("length") != row[-1].key("length"):
                break
            if row and item.key("number") > row[-1].key("number"):
                break
            row.append(item)
        if len(row) < self.span:
            return None
        return self.detection("One length.", row[::-1], tool=row[0].tool)


def keyed():
    """Return a detector that compares something that no other one does."""
    return LoopDetector([SameLength()], Escalation(), window=20)


def stuck(case):
    return Opinion(case.step % 4 != 0, 0.9, "It goes on and on.")


def judged():
    """Return a detector with a judge that is asked at the least suspicion."""
    opinion = SecondOpinion(stuck, suspicion=0.05, gap=1, confirm=True)
    return LoopDetector.escalating(second_opinion=opinion)


MAKES = (LoopDetector.default, LoopDetector.escalating, ladders, declared, small, keyed)
makes = st.sampled_from(MAKES)
presets = st.sampled_from([LoopDetector.default, LoopDetector.escalating])

TOOLS = ("look", "press", "update_page", "shell", LONG, "", "*")
ARGUMENTS = (
    {},
    {"q": "cats dogs"},
    {"q": "dog, cat", "request_id": 7},
    {"page": 3},
    {"page": 4, "text": "many words " * 20},
    {"command": "touch a > b"},
    {"command": "ls", "text": "many words " * 1_000},
)
ANSWERS = (
    *(None, "", "[]", "No results found.", "alpha beta", "gamma delta", "ok"),
    *("Error: page 3 is missing", "Error: page 4 is missing", "Error: unknown tool"),
    *("still running, 10% done", "still running, 20% done", "rate limit, try again later"),
    *("built at 12:00:01", "built at 12:00:02", "the same long text " * 40),
    *("at 12:00:01 " + "the same very long text " * 400, "line 1: a\nline 2: b\n" * 30),
    *(f"{REFUSED_MARKER} says a page", ToolResult("boom", is_error=True)),
)

USER = "the user speaks"
steps = st.tuples(st.sampled_from(TOOLS), st.sampled_from(ARGUMENTS), st.sampled_from(ANSWERS))
rounds = st.lists(steps, min_size=1, max_size=4)


@st.composite
def runs(draw, max_size=30):
    """Draw a run: rounds of steps, many of them like loops, and now and then words of the user."""
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
                    [USER],
                ]
            )
            | st.lists(st.sampled_from(few), min_size=1, max_size=12)
        )
    return run[:max_size]


def calls_of(each, number, first, name=str):
    return [
        ToolCall(name(tool), arguments, f"toolu_{first + at:020}{'x' * 40 * (at % 2)}", number)
        for at, (tool, arguments, _) in enumerate(each)
    ]


def a_run(chance, length):
    """Choose a run of few different rounds, which is a loop of some kind nearly always."""
    few = [
        [tuple(map(chance.choice, (TOOLS, ARGUMENTS, ANSWERS))) for _ in range(size)]
        for size in (1, 1, 2, 4)
    ]
    return chance.choices(few, k=length)


class Play:
    """A run that is played live: what is refused is answered by the refusal.

    Args:
        make: makes the detector.
        run: what happens, as `runs` draws it.
        between: is given the monitor after each report, and gives the one to go on with.
        one_by_one: report each call of a round alone.
        name: renames tools.
    """

    def __init__(self, make, run, between=lambda monitor: monitor, one_by_one=False, name=str):
        self.detector = make()
        self.verdicts, self.refusals = [], []
        self.calls, self.results, self.turns = [], [], []
        monitor = self.detector.monitor()
        for number, each in enumerate(run):
            if each is USER:
                self.turns.append(len(self.calls))
                monitor.user_message()
                continue
            calls = calls_of(each, number, len(self.calls), name)
            refusals = [monitor.before(call) for call in calls]
            results = [
                ToolResult(refusal.message, is_error=True)
                if refusal.action is LoopAction.BLOCK
                else result
                for refusal, (*_, result) in zip(refusals, each)
            ]
            size = 1 if one_by_one else len(calls)
            for start in range(0, len(calls), size):
                part = slice(start, start + size)
                verdict = monitor.after(calls[part], results[part])
                if verdict.case is not None:
                    verdict = monitor.answer(self.detector.second_opinion.judge(verdict.case))
                self.verdicts.append(verdict)
                monitor = between(monitor)
            self.refusals += refusals
            self.calls += calls
            self.results += results

    @property
    def recorded(self):
        """The run as it is recorded."""
        turns = [turn for turn in self.turns if turn < len(self.calls)]
        return RecordedRun(
            "run", calls=tuple(self.calls), results=tuple(self.results), turn_starts=tuple(turns)
        )


def without_arguments(verdict):
    """Return a verdict without the long form of arguments: in the midst of a round, it is lost."""
    found = verdict.detection
    if found is not None:
        details = {name: each for name, each in found.details.items() if name != "arguments"}
        found = replace(found, details=details)
    return verdict.action, verdict.message, found


def decided(play, shift=0):
    """Return what the verdicts come to, apart from words and names."""
    found = [each.detection for each in play.verdicts]
    return [
        (verdict.action, each and (each.detector_name, [at + shift for at in each.indices]))
        for verdict, each in zip(play.verdicts, found)
    ]


def resumed(detector):
    """Make what restores a run elsewhere."""

    def restored(monitor):
        text = json.dumps(monitor.snapshot())
        assert len(text) <= 32_768
        other = detector.monitor()
        other.restore(json.loads(text))
        assert json.dumps(other.snapshot()) == text
        return other

    return restored


def hashed(text):
    return hashlib.sha256(text.encode()).hexdigest()


MISSED = [[("look", {"page": number}, "Error: page 3 is missing")] for number in range(3)]
FOUND = [
    [
        ("look", {"name": f"{number}{at}"}, f"{hashed(str(number + at))[:9]} words")
        for at in range(6)
    ]
    for number in (10, 20)
]


@example(make=declared, run=[[("press", {}, None)]])
@example(make=judged, run=MISSED + FOUND)
@given(make=makes | st.just(judged), run=runs())
def test_a_run_that_is_resumed_after_each_round_is_judged_as_the_unbroken_one(make, run):
    unbroken, broken = Play(make, run), Play(make, run, resumed(make()))
    assert broken.verdicts == unbroken.verdicts
    assert broken.refusals == unbroken.refusals


@given(make=makes | st.just(judged), run=runs(max_size=20))
def test_a_run_that_is_resumed_after_each_call_is_judged_as_the_unbroken_one(make, run):
    unbroken = Play(make, run, one_by_one=True)
    broken = Play(make, run, resumed(make()), one_by_one=True)
    assert list(map(without_arguments, broken.verdicts)) == list(
        map(without_arguments, unbroken.verdicts)
    )
    assert broken.refusals == unbroken.refusals


COPIES = (copy.copy, copy.deepcopy, lambda monitor: pickle.loads(pickle.dumps(monitor)))


@given(make=makes, copied=st.sampled_from(COPIES), run=runs(max_size=15))
def test_a_copy_of_a_monitor_goes_on_alone(make, copied, run):
    def gone_on(monitor):
        other = copied(monitor)
        monitor.record_call("look", {}, "what comes now is no matter of the copy")
        monitor.mark_progress()
        return other

    unbroken = Play(make, run, one_by_one=True)
    broken = Play(make, run, gone_on, one_by_one=True)
    assert (broken.verdicts, broken.refusals) == (unbroken.verdicts, unbroken.refusals)


@given(make=makes, run=runs())
def test_a_replay_gives_the_verdicts_of_the_live_run(make, run):
    live = Play(make, run)
    ends = [stop - 1 for _, stop in live.recorded.rounds()]
    expected = [
        (end, verdict)
        for end, verdict in zip(ends, live.verdicts)
        if verdict.action is not LoopAction.CONTINUE
    ]
    assert list(replay(live.recorded, make())) == expected


ALIKE = [[("look", {}, answer)] for answer in (*[None] * 4, *[""] * 7, "[]")]


@example(make=LoopDetector.default, run=[*ALIKE, USER, *ALIKE[:1]], numbers={11})
@example(make=keyed, run=[[("look", {}, None)]], numbers={0})
@example(make=keyed, run=[[("look", {"n": f"word{at}"}, "")] for at in range(3)], numbers={2})
@given(make=makes, run=runs(), numbers=st.sets(st.integers(0, 29), max_size=4))
def test_an_explanation_gives_the_verdict_of_the_live_run(make, run, numbers):
    live = Play(make, run)
    ends = [stop - 1 for _, stop in live.recorded.rounds()]
    for number in numbers.intersection(range(len(ends))):
        explained = explain(live.recorded, make(), ends[number])
        assert explained.verdict == live.verdicts[number]


@given(make=makes, seed=st.integers(0, 9_999))
def test_the_order_of_siblings_does_not_matter(make, seed):
    chance = random.Random(seed)
    unique = [
        list({(one[0], str(one[1])): one for one in each}.values()) for each in a_run(chance, 14)
    ]
    one = Play(make, unique)
    other = Play(make, [chance.sample(each, len(each)) for each in unique])
    assert [each.action for each in one.verdicts] == [each.action for each in other.verdicts]


def unlike(siblings):
    """Return the siblings whose arguments no other one has."""
    return list(
        {str(arguments): (tool, arguments, answer) for tool, arguments, answer in siblings}.values()
    )


@given(make=presets | st.just(small), run=runs())
def test_the_names_of_tools_do_not_matter(make, run):
    # What a tool does is guessed from its name, so a name that speaks of change stays one.
    renamed = dict(zip(TOOLS, ("view", "type", "edit_sheet", "console", "another", "a", "b")))
    # Which of a round's loops comes first goes by the arguments; where they are equal, by names.
    run = [each if each is USER else unlike(each) for each in run]
    one, other = Play(make, run), Play(make, run, name=renamed.get)
    assert decided(one) == decided(other)


@given(make=presets, run=runs(), length=st.integers(1, 70))
def test_what_went_well_before_changes_nothing(make, run, length):
    prefix = [
        [("read", {"name": f"file{number:03}x"}, f"{hashed(str(number))[:9]} words")]
        for number in range(length)
    ]
    alone, later = Play(make, run), Play(make, prefix + run)
    assert [each.action for each in later.verdicts[:length]] == [LoopAction.CONTINUE] * length
    assert decided(later)[length:] == decided(alone, length)


def verdicts_of_many_runs():
    """Print what the presets say about many runs, the same each time."""
    chance = random.Random(7)
    for make in MAKES:
        for _ in range(5):
            play = Play(make, a_run(chance, 25))
            print(repr([(each, each.detection) for each in play.verdicts]))
            print(json.dumps([each.detection and each.detection.details for each in play.verdicts]))


def test_no_verdict_depends_on_the_seed_of_hashes():
    outputs = {
        subprocess.run(
            [sys.executable, __file__],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "4711")
    }
    (output,) = outputs
    assert '"calls"' in output


if __name__ == "__main__":
    verdicts_of_many_runs()
