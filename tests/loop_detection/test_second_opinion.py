"""Asking somebody whether a run is stuck, through a monitor driven by hand."""

import json
import pickle
from copy import deepcopy
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop.loop_detection import (
    CaseFile,
    Escalation,
    FailureStreakDetector,
    LoopAction,
    LoopDetection,
    LoopDetector,
    LoopVerdict,
    NearRepeatDetector,
    Opinion,
    PersistentFailureDetector,
    RecurrenceDetector,
    RepeatDetector,
    SecondOpinion,
    UnknownToolDetector,
)
from antiloop.types import ToolCall, ToolResult

STUCK = Opinion(True, 0.9, "It rewrites one file.")
LETTERS = "abcdefghijklmn"
NOT_STUCK = Opinion(False, 0.9, "It reads on.")


def never(case):
    raise AssertionError(f"nobody asks here: {case!r}")


def watching(run_id="", can_ask=True, opinions=None, **options):
    """Make a monitor that asks at the first sign, and that only a judge can move."""
    chosen = {"suspicion": 0.1, "gap": 4, **options}
    detector = LoopDetector(
        [RepeatDetector(40)], Escalation(), second_opinion=SecondOpinion(never, **chosen)
    )
    return detector.monitor(run_id=run_id, can_ask=can_ask, opinions=opinions)


def search(monitor, number):
    """Look for something that is not there, in new words each time."""
    return monitor.record_call("search", {"query": f"word{number}"}, "No results found.")


def searched(monitor, count, answer=None, start=0):
    """Search many times; give the final verdicts, and the steps that were asked about."""
    verdicts, steps = [], []
    for number in range(start, start + count):
        verdict = search(monitor, number)
        if verdict.case is not None:
            steps.append(verdict.case.step)
            verdict = monitor.answer(answer(verdict.case) if callable(answer) else answer)
        verdicts.append(verdict)
    return verdicts, steps


def actions(verdicts):
    return [verdict.action.value for verdict in verdicts if verdict.action.value != "continue"]


class TestSuspicion:
    def test_new_things_raise_none(self):
        monitor = LoopDetector.escalating().monitor()
        verdicts = [
            monitor.record_call("read", {"path": f"{n}.py"}, f"the text of file {n}")
            for n in range(20)
        ]
        assert [verdict.suspicion for verdict in verdicts] == [0.0] * 20

    def test_it_grows_while_nothing_comes_and_is_one_where_a_detector_speaks(self):
        monitor = LoopDetector.escalating().monitor()
        values = [search(monitor, number).suspicion for number in range(9)]
        assert values == sorted(values)
        assert 0.1 < values[3] < values[4] <= 1
        spoken = [monitor.record_call("ls", {}, "a b c") for _ in range(3)][-1]
        assert (spoken.action.value, spoken.suspicion) == ("notify", 1.0)

    def test_progress_begins_anew(self):
        monitor = LoopDetector.escalating().monitor()
        before = [search(monitor, number) for number in range(4)][-1].suspicion
        monitor.mark_progress()
        assert before > 0 == search(monitor, 9).suspicion

    def test_calls_of_one_round_that_come_one_by_one_count_once(self):
        def of(number, sibling):
            return ToolCall("search", {"q": f"{number}{sibling}"}, round=number)

        alone, together = (LoopDetector.escalating().monitor() for _ in range(2))
        for number in range(5):
            pair = [of(number, "a"), of(number, "b")]
            one = together.after(pair, ["No results found."] * 2)
            alone.after(pair[:1], ["No results found."])
            other = alone.after(pair[1:], ["No results found."])
        assert one.suspicion == other.suspicion

    def test_it_goes_on_after_a_restore(self):
        first = LoopDetector.escalating().monitor()
        for number in range(4):
            search(first, number)
        second = LoopDetector.escalating().monitor()
        second.restore(json.loads(json.dumps(first.snapshot())))
        assert search(second, 9).suspicion == search(first, 9).suspicion > 0

    def test_where_nothing_counts_there_is_none(self):
        from antiloop.loop_detection import ToolPolicy

        monitor = LoopDetector.escalating().monitor({"wait": ToolPolicy(exempt=True)})
        assert monitor.record_call("wait", {}, "").suspicion == 0.0

    def test_failures_in_the_same_words_count_under_all_arguments(self):
        monitor = LoopDetector.escalating().monitor()
        same = [monitor.record_call("get", {"id": n}, f"Error: {n} not found") for n in range(4)]
        other = LoopDetector.escalating().monitor()
        words = ("cannot open the door", "unable to find a key", "denied by guard", "failed to run")
        mixed = [other.record_call("get", {"id": n}, f"Error: {w}") for n, w in enumerate(words)]
        assert same[-1].suspicion > mixed[-1].suspicion > 0


class TestQuestions:
    def test_a_suspicious_run_raises_a_question_with_a_case(self):
        monitor = watching(run_id="run-1")
        case = next(v.case for n in range(9) if (v := search(monitor, n)).case)
        assert isinstance(case, CaseFile)
        assert (case.run_id, case.step) == ("run-1", monitor.call_count - 1)
        assert 0.1 <= case.suspicion < 1
        assert len(case.rounds) == monitor.call_count

    def test_it_is_not_asked_twice_within_the_gap_after_no_and_after_no_answer(self):
        for answer in (NOT_STUCK, None, Opinion(True, 0.5), "yes"):
            _, steps = searched(watching(gap=4), 20, answer)
            assert len(steps) >= 4
            assert {later - step for step, later in zip(steps, steps[1:])} == {4}

    def test_it_is_asked_no_more_than_the_limit(self):
        _, steps = searched(watching(gap=1, limit=3), 30, NOT_STUCK)
        assert len(steps) == 3

    def test_stuck_climbs_and_is_asked_again_before_the_stop_and_then_is_said(self):
        verdicts, steps = searched(watching(), 7, STUCK)
        assert actions(verdicts) == ["notify", "stop"]
        assert len(steps) == 2
        found = next(v.detection for v in verdicts if v.detection)
        assert found.detector_name == "second_opinion"
        assert found.message.endswith("the run is stuck: It rewrites one file.")
        assert found.details["confidence"] == 0.9

    def test_further_rounds_climb_without_a_question_while_nothing_strong_is_due(self):
        judge = SecondOpinion(never, suspicion=0.1, gap=4)
        ladder = Escalation(("notify", "notify", "notify", "stop"))
        monitor = LoopDetector([RepeatDetector(40)], ladder, second_opinion=judge).monitor()
        verdicts, steps = searched(monitor, 8, STUCK)
        assert actions(verdicts)[:2] == ["notify", "notify"]
        assert len(steps) == 1

    def test_not_stuck_before_the_stop_keeps_the_run(self):
        answers = iter([STUCK, *[NOT_STUCK] * 9])
        verdicts, _ = searched(watching(), 12, lambda _: next(answers))
        assert actions(verdicts) == ["notify"]

    def test_no_answer_before_the_stop_is_no_stop(self):
        answers = iter([STUCK, *[None] * 30])
        verdicts, steps = searched(watching(), 12, lambda _: next(answers))
        assert actions(verdicts) == ["notify"]
        assert len(steps) > 1

    def test_after_the_stop_it_is_quiet_until_the_run_has_left_the_loop(self):
        monitor = watching(gap=4)
        verdicts, steps = searched(monitor, 24, STUCK)
        assert (actions(verdicts), len(steps)) == (["notify", "stop"], 2)
        for number in range(14):
            monitor.record_call("read", {"path": LETTERS[number] * 3}, LETTERS[number] * 4)
        verdicts, steps = searched(monitor, 6, STUCK, start=50)
        assert steps

    @pytest.mark.parametrize("policy", ["stop", "raise"])
    def test_after_a_stop_at_once_it_is_quiet_too(self, policy):
        judge = SecondOpinion(never, suspicion=0.1, gap=4)
        monitor = LoopDetector([RepeatDetector(40)], policy, second_opinion=judge).monitor()
        verdicts, steps = searched(monitor, 24, STUCK)
        assert (actions(verdicts), len(steps)) == ([policy], 1)

    def test_a_stop_by_a_detector_does_not_silence_the_judge(self):
        judge, ladder = SecondOpinion(never, suspicion=0.1, gap=4), Escalation(("notify", "stop"))
        monitor = LoopDetector([RepeatDetector(3)], ladder, second_opinion=judge).monitor()
        assert actions(searched(monitor, 3, STUCK)[0]) == ["notify"]
        looks = [monitor.record_call("ls", {}, "a b c") for _ in range(3)]
        assert looks[-1].action.value == "stop"
        _, steps = searched(monitor, 6, None, start=9)
        assert steps

    def test_what_was_said_goes_on_with_a_loop_that_a_detector_is_sure_of(self):
        judge, ladder = SecondOpinion(never, suspicion=0.1, gap=4), Escalation(("notify",) * 6)
        monitor = LoopDetector([RepeatDetector(3)], ladder, second_opinion=judge).monitor()
        assert actions(searched(monitor, 3, STUCK)[0]) == ["notify"]
        for letter in LETTERS[:3]:
            monitor.record_call("read", {"path": letter * 3}, letter * 4)
        looks = [monitor.record_call("ls", {}, "a b c") for _ in range(3)]
        assert looks[-1].detection.detector_name == "repeat"
        [verdict], steps = searched(monitor, 1, never, start=9)
        assert (verdict.loop.detector_name, steps) == ("second_opinion", [])

    @pytest.mark.parametrize(("policy", "pause"), [("inject_message", 6), ("stop", 12)])
    def test_a_detector_that_is_certain_puts_a_question_off(self, policy, pause):
        judge = SecondOpinion(never, suspicion=0.1, gap=6)
        monitor = LoopDetector([RepeatDetector(3)], policy, second_opinion=judge).monitor()
        looks = [monitor.record_call("ls", {}, "a b c") for _ in range(3)]
        assert looks[-1].detection.detector_name == "repeat"
        _, [first, *_] = searched(monitor, 14, NOT_STUCK)
        assert first == 2 + pause

    def test_something_new_ends_what_was_said(self):
        monitor = watching()
        searched(monitor, 4, STUCK)
        for number in range(12):
            monitor.record_call("read", {"path": f"{number}"}, f"text {number}")
        verdicts, _ = searched(monitor, 4, NOT_STUCK, start=50)
        assert actions(verdicts) == []

    def test_the_user_ends_what_was_said(self):
        monitor = watching()
        searched(monitor, 3, STUCK)
        monitor.user_message()
        verdicts, _ = searched(monitor, 4, NOT_STUCK, start=50)
        assert actions(verdicts) == []

    @pytest.mark.parametrize("speaks", [False, True])
    def test_not_stuck_keeps_a_sure_detector_quiet_until_the_user_speaks(self, speaks):
        judge = SecondOpinion(never, suspicion=0.1, gap=30, confirm=True)
        found = LoopDetector([RepeatDetector(3)], Escalation(), second_opinion=judge)
        monitor = found.monitor()
        _, steps = searched(monitor, 9, NOT_STUCK)
        assert len(steps) == 1
        if speaks:
            monitor.user_message()
        verdicts = [monitor.record_call("ls", {}, "a b c") for _ in range(4)]
        assert ("notify" in actions(verdicts)) == speaks

    @pytest.mark.parametrize(
        ("action", "at_once", "answered"),
        [("notify", "continue", "notify"), ("stop", "stop", "continue")],
    )
    def test_it_comes_before_words_unless_they_end_the_run(self, action, at_once, answered):
        monitor = watching()
        verdict = next(one for one in map(partial(search, monitor), range(9)) if one.case)
        words = LoopVerdict(LoopAction(action), LoopDetection("chant", "It repeats itself."))
        assert monitor.with_words(verdict, words).action.value == at_once
        assert monitor.answer(NOT_STUCK).action.value == answered

    def test_an_answer_that_comes_too_late_is_nothing(self):
        monitor = watching()
        case = next(v.case for n in range(9) if (v := search(monitor, n)).case)
        assert case is not None
        monitor.record_call("read", {"path": "a"}, "text")
        assert monitor.answer(STUCK).action.value == "continue"

    def test_where_nobody_can_answer_nothing_is_asked(self):
        monitor = watching(can_ask=False)
        verdicts, steps = searched(monitor, 9, never)
        assert (actions(verdicts), steps) == ([], [])
        monitor.user_message()
        assert "inquiry" not in monitor.snapshot()


NEAR = [
    ("ask", {"q": "why?", "request_id": number}, "the answer is the same") for number in range(7)
]
UNCERTAIN = {
    "near_repeat": (NearRepeatDetector(4), NEAR[:4]),
    "recurrence": (
        RecurrenceDetector(3),
        [
            step
            for n in range(3)
            for step in (("list", {}, "a b"), ("read", {"path": f"{n}"}, f"text {n}"))
        ][:-1],
    ),
    "persistent_failure": (
        PersistentFailureDetector(3),
        [
            step
            for n in range(3)
            for step in (("edit", {"file": f"{n}.py"}, "ok"), ("test", {}, "Error: all is broken"))
        ],
    ),
    "unknown_tool": (
        UnknownToolDetector(3),
        [("book", {"n": n}, "Input validation error: 'x' is wrong") for n in range(3)],
    ),
}
"""A detector, and a run in which it finds something that a judge may see in another way."""


class TestDetectorsAndJudges:
    """A row of fruitless rounds is weak evidence; the same call again is not."""

    def weak(self, **options):
        judge = SecondOpinion(never, suspicion=1, **options)
        row = [FailureStreakDetector(40, in_a_row=4), RepeatDetector(3)]
        return LoopDetector(row, Escalation(), second_opinion=judge).monitor()

    def row(self, monitor, count, answer):
        verdicts = []
        for number in range(count):
            text = f"Error: {'abcdefghijklmnop'[number] * 5} is broken"
            verdict = monitor.record_call(f"tool{number % 3}", {"q": number}, text)
            if verdict.case is not None:
                verdict = monitor.answer(answer)
            verdicts.append(verdict)
        return verdicts

    def judged(self, monitor, steps, answer):
        """Return the verdicts of a run, and whether each that says something was asked about."""
        verdicts, asked = [], []
        for tool, arguments, text in steps:
            verdict = monitor.record_call(tool, arguments, text)
            is_asked = verdict.case is not None
            verdict = monitor.answer(answer) if is_asked else verdict
            verdicts.append(verdict)
            asked += [is_asked] * (is_asked or verdict.detection is not None)
        return verdicts, asked

    def test_weak_evidence_waits_for_the_judge(self):
        heard = []
        monitor = self.weak()
        monitor.add_listener(heard.append)
        found = [v for v in self.row(monitor, 12, STUCK) if v.detection]
        assert found[0].detection.detector_name == "second_opinion"
        assert heard[: len(found)] == found
        assert actions(self.row(self.weak(), 12, NOT_STUCK)) == []

    def test_without_an_answer_it_speaks_as_without_a_judge(self):
        bare = LoopDetector(
            [FailureStreakDetector(40, in_a_row=4), RepeatDetector(3)], Escalation()
        ).monitor()
        wanted = self.row(bare, 14, None)
        assert actions(wanted)
        assert self.row(self.weak(), 14, None) == wanted
        assert self.row(self.weak(), 14, Opinion(False, 0.6)) == wanted

    @pytest.mark.parametrize("answer", [None, Opinion(False, 0.6), Opinion(True, 0.6)])
    def test_a_notice_that_waits_for_the_judge_is_worded_once(self, answer):
        detector, steps = UNCERTAIN["near_repeat"]
        asked, judge = [], SecondOpinion(never, suspicion=1)

        def words(found):
            asked.append(found)
            return f"Notice {len(asked)}."

        monitor = LoopDetector(
            [detector], Escalation(), second_opinion=judge, inject_message=words
        ).monitor()
        verdicts, waited = self.judged(monitor, steps, answer)
        assert waited == [True]
        assert (verdicts[-1].message, len(asked)) == ("Notice 1.", 1)

    def test_listeners_hear_what_nobody_answered(self):
        monitor, heard = self.weak(), []
        monitor.add_listener(heard.append)
        for number in range(12):
            text = f"Error: {'abcdefghijklmnop'[number] * 5} is broken"
            monitor.record_call(f"tool{number % 3}", {"q": number}, text)
        assert actions(heard)
        assert all(verdict.case is None for verdict in heard)

    @pytest.mark.parametrize("name", UNCERTAIN)
    @pytest.mark.parametrize(("answer", "is_heard"), [(NOT_STUCK, False), (None, True)])
    def test_what_may_be_healthy_waits_for_the_judge(self, name, answer, is_heard):
        detector, steps = UNCERTAIN[name]
        judge = SecondOpinion(never, suspicion=1)
        monitor = LoopDetector([detector], Escalation(), second_opinion=judge).monitor()
        verdicts, asked = self.judged(monitor, steps, answer)
        assert asked[0] is True
        assert actions(verdicts) == (["notify"] if is_heard else [])

    def test_a_judge_and_a_detector_that_agree_need_no_further_question(self):
        detector, steps = UNCERTAIN["near_repeat"]
        judge = SecondOpinion(never, suspicion=1, gap=9)
        monitor = LoopDetector([detector], Escalation(), second_opinion=judge).monitor()
        verdicts, asked = self.judged(monitor, [*steps, *NEAR[4:6]], STUCK)
        assert actions(verdicts) == ["notify", "block", "stop"]
        assert asked == [True, False, False]

    def test_a_run_that_goes_on_after_its_end_is_asked_about_later_and_anew(self):
        monitor = self.weak(gap=3)
        repeats = [monitor.record_call("ls", {}, "a") for _ in range(5)]
        assert actions(repeats) == ["notify", "block", "stop"]
        rounds = [monitor.record_call("ls", {"n": n}, f"text {n}") for n in range(2)]
        assert actions(rounds) == []
        asked = []
        for number in range(8):
            text = f"Error: {'abcdefghijklmnop'[number] * 5} is broken"
            verdict = monitor.record_call(f"tool{number % 3}", {"q": number}, text)
            asked.append(verdict.case is not None)
            monitor.answer(NOT_STUCK)
        # Round 5 ended the run, and the pause is twice the gap; four failures in a row are weak.
        assert asked == [False, False, False, True, False, False, True, False]

    def test_another_way_after_a_judged_end_gets_a_question_of_its_own(self):
        judge = SecondOpinion(never, suspicion=0.1, gap=2)
        row = [FailureStreakDetector(40, in_a_row=4), RepeatDetector(40)]
        monitor = LoopDetector(row, Escalation(("notify", "stop")), second_opinion=judge).monitor()
        _, steps = searched(monitor, 8, STUCK)
        ended = monitor.call_count
        for number in range(3):  # suspicious still, but no detector finds a loop
            monitor.record_call("read", {"path": f"{number}"}, f"text {number}")
            search(monitor, 50 + number)
        late = [verdict.case for verdict in map(partial(search, monitor), range(70, 80))]
        assert len(steps) >= 2
        assert any(case is not None and case.step > ended for case in late)

    def test_a_certain_detector_speaks_alone(self):
        monitor = self.weak()
        verdicts = [monitor.record_call("ls", {}, "a") for _ in range(5)]
        assert all(verdict.case is None for verdict in verdicts)
        assert actions(verdicts) == ["notify", "block", "stop"]

    @pytest.mark.parametrize(
        ("answer", "said"),
        [
            (True, ["notify", "block", "stop"]),
            (None, ["notify", "block", "stop"]),
            (False, ["notify"]),
        ],
    )
    def test_with_confirm_it_waits_before_it_does_more_than_speak(self, answer, said):
        monitor, verdicts, questions = self.weak(confirm=True, gap=3), [], 0
        for _ in range(5):
            verdict = monitor.record_call("ls", {}, "a")
            if verdict.case is not None:
                questions += 1
                verdict = monitor.answer(answer)
            verdicts.append(verdict)
        assert actions(verdicts) == said
        assert questions > 0

    def test_a_judged_run_may_become_certain(self):
        monitor = watching()
        searched(monitor, 3, STUCK)
        verdicts = [monitor.record_call("ls", {}, "a") for _ in range(40)]
        assert "repeat" in {v.detection.detector_name for v in verdicts if v.detection}

    def test_a_budget_needs_nobody_to_confirm(self):
        from antiloop.loop_detection import CallLimitDetector

        judge = SecondOpinion(never, confirm=True)
        monitor = LoopDetector([CallLimitDetector(2)], "stop", second_opinion=judge).monitor()
        verdicts = [monitor.record_call("ls", {"n": n}, f"{n} is new") for n in range(4)]
        assert actions(verdicts)[:1] == ["stop"]
        assert [verdict.case for verdict in verdicts] == [None] * 4


class TestRecords:
    def test_recorded_opinions_give_the_same_verdicts_and_nobody_is_asked(self):
        live = watching()
        wanted, _ = searched(live, 20, STUCK)
        opinions = live.opinions
        assert opinions
        again = watching(opinions=opinions, can_ask=False)
        verdicts, steps = searched(again, 20, never)
        assert steps == []
        assert verdicts == wanted

    def test_a_detector_without_a_judge_takes_recorded_opinions_too(self):
        detector = LoopDetector.escalating()
        monitor = detector.monitor(opinions={1: STUCK, 2: Opinion(True, 0.2)})
        verdicts, steps = searched(monitor, 3, never)
        assert (actions(verdicts), steps) == (["notify"], [])

    @pytest.mark.parametrize("cut", range(1, 14))
    def test_a_resumed_run_goes_on_as_the_unbroken_one(self, cut):
        unbroken = watching()
        wanted, _ = searched(unbroken, 16, STUCK)
        first, second = watching(), watching()
        before, _ = searched(first, cut, STUCK)
        second.restore(json.loads(json.dumps(first.snapshot())))
        after, _ = searched(second, 16 - cut, STUCK, start=cut)
        assert [*before, *after] == wanted
        assert second.opinions == unbroken.opinions

    def test_a_resumed_run_still_shows_what_was_called(self):
        first, second = watching(), watching()
        for number in range(2):
            search(first, number)
        second.restore(json.loads(json.dumps(first.snapshot())))
        case = next(v.case for n in range(2, 9) if (v := search(second, n)).case)
        assert "word0" in case.prompt()

    def test_a_copy_goes_on_alone_with_the_same_judge(self):
        monitor = watching()
        searched(monitor, 3, STUCK)
        other = deepcopy(monitor)
        assert searched(other, 6, STUCK, start=3) == searched(monitor, 6, STUCK, start=3)


class TestArguments:
    @pytest.mark.parametrize(
        ("options", "said"),
        [
            ({"suspicion": 0}, "suspicion must be above 0"),
            ({"suspicion": True}, "suspicion must be above 0"),
            ({"gap": 0}, "gap must be a whole number, 1 or more"),
            ({"limit": 0}, "limit must be a whole number, 1 or more"),
            ({"timeout": 0}, "timeout must be a finite number above 0"),
            ({"timeout": float("nan")}, "timeout must be a finite number above 0"),
        ],
    )
    def test_what_can_never_work_is_refused(self, options, said):
        with pytest.raises(ValueError, match=said):
            SecondOpinion(never, **options)

    def test_what_cannot_be_asked_is_refused(self):
        for wrong in ("judge", 3):
            with pytest.raises(TypeError, match="the judge must be a function"):
                LoopDetector.escalating(second_opinion=wrong)
        with pytest.raises(TypeError, match=r"pass an instance: Opinion\(\.\.\.\)"):
            LoopDetector.escalating(second_opinion=Opinion)

    def test_a_bare_judge_gets_the_defaults(self):
        assert LoopDetector.default(second_opinion=never).second_opinion == SecondOpinion(never)

    def test_a_judge_cannot_be_written_down(self):
        with pytest.raises(ValueError, match="second_opinion: a judge is code"):
            LoopDetector.escalating(second_opinion=never).to_config()


HUGE = {"stuck": True, "confidence": 10**400}


class TestOpinion:
    def test_what_is_wrong_is_refused(self):
        with pytest.raises(TypeError, match="stuck must be True or False"):
            Opinion("yes")
        for wrong in (-0.1, 1.1, float("nan"), float("inf"), 10**400):
            with pytest.raises(ValueError, match="between 0 and 1"):
                Opinion(True, wrong)
        for wrong in ("0.9", None, True):
            with pytest.raises(TypeError, match="confidence must be a number"):
                Opinion(True, wrong)

    def test_the_reason_is_one_short_line(self):
        opinion = Opinion(True, 1, "a\nb\x1b[31m" + "c" * 1000)
        assert len(opinion.reason.replace("\\x1b", "-")) <= 300
        assert opinion.reason.isprintable()
        assert Opinion(True, 1, None).reason == ""
        assert [Opinion(True, 1, "c" * n).reason == "c" * n for n in (300, 301)] == [True, False]

    def test_it_goes_through_json_and_pickle(self):
        opinion = Opinion(False, 0.75, "so")
        assert Opinion.from_dict(json.loads(json.dumps(opinion.to_dict()))) == opinion
        assert pickle.loads(pickle.dumps(opinion)) == opinion
        assert repr(opinion) == "<Opinion not stuck, 0.75, 'so'>" or "not stuck" in repr(opinion)

    def test_what_cannot_be_read_is_none(self):
        from antiloop.loop_detection._second_opinion.opinion import recorded_opinion

        assert recorded_opinion({"stuck": True}) == Opinion(True)
        for wrong in (None, [], {}, {"stuck": 1}, {"stuck": True, "confidence": 9}, HUGE):
            assert recorded_opinion(wrong) is None


ANSWERS = ["No results found.", "Error: broken", "ok", "a text that is new", ""]
STEPS = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 3), st.sampled_from(ANSWERS)), max_size=40
)


@given(STEPS, st.floats(0.1, 0.9))
def test_suspicion_that_lasts_or_leads_by_far_raises_a_question(steps, bound):
    judge = SecondOpinion(never, suspicion=bound, gap=1, limit=99)
    monitor = LoopDetector([RepeatDetector(40)], second_opinion=judge).monitor()
    before = 0.0
    for tool, number, text in steps:
        verdict = monitor.record_call(tool, {"n": number}, text)
        now = verdict.suspicion
        if min(before, now) >= bound or now - 0.14 >= bound:
            assert verdict.case is not None
        elif verdict.case is not None:  # the likeness counts as well
            assert verdict.case.suspicion >= bound
        monitor.answer(False)
        before = now


@given(STEPS, st.sampled_from([None, "no", Opinion(True, 0.6), Opinion(False, 0.1), 1]))
def test_a_judge_without_an_opinion_changes_nothing(steps, answer):
    judge = SecondOpinion(never, suspicion=0.05, gap=1, limit=99, confirm=True)
    bare, judged = (
        LoopDetector.escalating().monitor(),
        LoopDetector.escalating(second_opinion=judge).monitor(),
    )
    for tool, number, text in steps:
        result = ToolResult(text, text.startswith("Error"))
        wanted = bare.record_call(tool, {"n": number}, result)
        verdict = judged.record_call(tool, {"n": number}, result)
        assert (verdict.action, verdict.detection) == (wanted.action, wanted.detection)
        if verdict.case is not None:
            verdict = judged.answer(answer)
        assert verdict == wanted
        assert 0 <= verdict.suspicion <= 1


@given(STEPS, st.lists(st.sampled_from([True, False, None]), min_size=40, max_size=40))
def test_a_replay_with_the_opinions_says_the_same(steps, answers):
    def run(monitor, answers):
        verdicts, left = [], iter(answers)
        for tool, number, text in steps:
            verdict = monitor.record_call(tool, {"n": number}, text)
            if verdict.case is not None:
                verdict = monitor.answer(next(left))
            verdicts.append(verdict)
        return verdicts

    judge = SecondOpinion(never, suspicion=0.2, gap=2)
    detector = LoopDetector.escalating(second_opinion=judge)
    live = detector.monitor()
    wanted = run(live, answers)
    assert run(detector.monitor(opinions=live.opinions, can_ask=False), ()) == wanted


def test_the_calls_of_the_last_eight_rounds_are_held_against_a_run():
    monitor = watching(gap=12)
    _, [first] = searched(monitor, 4, NOT_STUCK)
    verdicts, [step] = searched(monitor, 12, STUCK, start=4)
    found = next(each.detection for each in verdicts if each.detection)
    assert step == first + 12
    assert found.indices == tuple(range(step - 7, step + 1))


def test_a_run_may_be_resumed_before_its_first_call():
    monitor = watching()
    monitor.restore(json.loads(json.dumps(monitor.snapshot())))
    assert searched(monitor, 9, STUCK) == searched(watching(), 9, STUCK)


@pytest.mark.parametrize("judge", [None, never])
def test_what_is_said_is_masked_only_for_a_judge(judge):
    seen = []
    detector = LoopDetector([RepeatDetector(3)], second_opinion=judge, mask=seen.append)
    monitor = detector.monitor()
    monitor.user_message("Find the cats.")
    monitor.said("I look for them.")
    monitor.record_call("look", {"q": "cats"}, "none")
    assert bool(seen) == (judge is not None)


def test_a_resumed_run_still_tells_the_whole_reason():
    judge, ladder = SecondOpinion(never, suspicion=0.1), Escalation(("notify", "notify", "stop"))
    detector = LoopDetector([RepeatDetector(40)], ladder, second_opinion=judge)
    first, second = detector.monitor(), detector.monitor()
    searched(first, 4, Opinion(True, 0.9, "x" * 300))
    second.restore(json.loads(json.dumps(first.snapshot())))
    [verdict], _ = searched(second, 1, never, start=4)
    assert "x" * 300 in verdict.detection.details["reason"]


@pytest.mark.parametrize(("confidence", "counts"), [(0.79, False), (0.8, True)])
def test_an_opinion_counts_from_eight_tenths_on(confidence, counts):
    verdicts, _ = searched(watching(), 4, Opinion(True, confidence))
    assert bool(actions(verdicts)) == counts


def test_the_confidence_that_counts_can_be_set():
    verdicts, _ = searched(watching(confidence=0.3), 4, Opinion(True, 0.4))
    assert actions(verdicts)
    with pytest.raises(ValueError, match="confidence must be between 0 and 1, got 7"):
        SecondOpinion(never, confidence=7)
