"""The same call in consecutive rounds is a repeat; with results, only while nothing new comes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import ask, ask_rounds, call, in_a_row, step, verdicts

from antiloop import LoopDetector, RepeatDetector, ToolCall, ToolResult
from antiloop.loop_detection import Escalation

LS = step("ls", path=".")
CAT = step("cat", path="a")
POLL = step("status", '{"status": "running"}', job=5)


def test_equal_calls_as_many_as_the_threshold_are_a_repeat():
    found = ask(RepeatDetector(3), LS, LS, LS)
    assert found.detector_name == "repeat"
    assert found.message == "Tool 'ls' was called 3 times in a row with the same arguments."
    assert found.indices == (0, 1, 2)
    assert (found.repetitions, found.period, found.wasted_calls) == (3, 1, 2)


@pytest.mark.parametrize("threshold", [2, 3, 5, 50])
def test_one_call_less_than_the_threshold_is_not_yet_a_repeat(threshold):
    detector = RepeatDetector(threshold)
    assert ask(detector, *[LS] * (threshold - 1)) is None
    assert ask(detector, *[LS] * threshold).repetitions == threshold


def test_details_say_which_call_how_often_and_where():
    found = ask(RepeatDetector(2), CAT, LS, LS)
    assert found.details == {
        "tool": "ls",
        "count": 2,
        "arguments": {"path": "."},
        "answer": "unknown",
        "indices": [1, 2],
        "calls": [{"tool": "ls", "arguments": '{"path":"."}'}],
    }
    assert json.loads(json.dumps(found.details)) == found.details


def test_the_whole_streak_is_reported_however_long():
    found = ask(RepeatDetector(2), CAT, CAT, *[LS] * 1000)
    assert found.indices == tuple(range(2, 1002))
    assert found.details["count"] == 1000
    assert found.wasted_calls == 999


@pytest.mark.parametrize("before", range(8))
@pytest.mark.parametrize("length", [7, 8, 9, 11, 12, 13, 31, 32, 33])
def test_the_streak_begins_where_another_call_ends_it(before, length):
    run = [[LS, CAT], *([[CAT]] * before), [CAT, LS], *([[LS]] * (length - 1))]
    found = ask_rounds(RepeatDetector(2), *run)
    assert found.repetitions == (length + 1 if before == 0 else length)


def test_another_call_in_between_starts_the_count_anew():
    assert ask(RepeatDetector(3), LS, LS, CAT, LS) is None
    assert ask(RepeatDetector(3), LS, LS, CAT, LS, LS, LS).indices == (3, 4, 5)


def test_a_repeat_that_is_over_is_not_reported():
    assert ask(RepeatDetector(3), LS, LS, LS, CAT) is None


def test_nothing_is_found_in_nothing():
    assert RepeatDetector(2).check([], []) is None
    assert ask(RepeatDetector(2), LS) is None


def test_results_are_not_needed():
    assert RepeatDetector(3).check([call("ls")] * 3, []).repetitions == 3


def test_taken_bare_results_make_no_difference():
    run = [step("read", "first"), step("read", "second"), step("read", "third")]
    assert ask(RepeatDetector(3), *run).repetitions == 3


def test_taken_bare_a_call_counts_whatever_its_siblings_bring():
    run = [[step("look", None), step("read", f"page {n}", n=n)] for n in range(3)]
    assert ask_rounds(RepeatDetector(3), *run).repetitions == 3
    assert ask_rounds(RepeatDetector(3, require_same_result=True), *run) is None


def test_call_ids_and_key_order_make_no_difference():
    calls = [
        ToolCall("f", {"a": 1, "b": 2}, id="1"),
        ToolCall("f", {"b": 2, "a": 1}, id="2"),
        ToolCall("f", '{"b": 2, "a": 1.0}', id="3"),
    ]
    assert RepeatDetector(3).check(calls, []).call_ids == ("3",)


def test_equal_names_are_not_enough():
    assert ask(RepeatDetector(2), *(step("ls", path=path) for path in "abc")) is None
    assert ask(RepeatDetector(2), step("ls", path="a"), step("cat", path="a")) is None


def test_a_detector_keeps_no_state():
    detector = RepeatDetector(3)
    assert ask(detector, LS, LS) is None
    assert ask(detector, LS) is None
    assert [ask(detector, LS, LS, LS) for _ in range(2)] == [ask(RepeatDetector(3), LS, LS, LS)] * 2


@pytest.mark.parametrize("threshold", [1, 0, -3, True, 2.0, "3", None])
def test_a_threshold_that_could_mean_nothing_is_refused(threshold):
    with pytest.raises(ValueError, match="threshold must be a whole number, 2 or more, got"):
        RepeatDetector(threshold)


@pytest.mark.parametrize("patience", [2, 0, True, 4.0])
def test_patience_below_the_threshold_is_refused(patience):
    with pytest.raises(ValueError, match="patience must be a whole number, 3 or more, got"):
        RepeatDetector(3, patience=patience)


class TestRounds:
    def test_siblings_count_once(self):
        assert ask_rounds(RepeatDetector(2), [LS] * 6) is None
        assert ask_rounds(RepeatDetector(3), [LS] * 6, [LS]) is None
        assert ask_rounds(RepeatDetector(3), [LS] * 6, [LS], [LS] * 2).indices == (0, 6, 7)

    def test_order_inside_a_round_does_not_matter(self):
        three = [LS, CAT, step("head", path="b")]
        assert ask_rounds(RepeatDetector(3), three, three[::-1]) is None
        found = ask_rounds(RepeatDetector(3), three, three[::-1], three)
        assert found.repetitions == 3

    def test_only_the_members_that_repeat_are_found(self):
        head = step("head", path="b")
        found = ask_rounds(RepeatDetector(3), [LS], [LS, CAT], [LS, CAT, head])
        assert found.details["tool"] == "ls"
        assert found.indices == (0, 1, 3)

    def test_the_longest_of_several_streaks_is_reported(self):
        found = ask_rounds(RepeatDetector(2), [LS], [CAT, LS], [CAT, LS])
        assert (found.details["tool"], found.repetitions) == ("ls", 3)

    def test_calls_without_a_round_are_rounds_of_their_own(self):
        assert RepeatDetector(3).check([ToolCall("ls")] * 3, []) is not None

    def test_calls_of_one_round_number_are_one_round(self):
        assert RepeatDetector(2).check([ToolCall("ls", round=7)] * 3, []) is None


class TestSameResult:
    detector = RepeatDetector(3, require_same_result=True)

    def test_the_same_result_is_a_repeat(self):
        assert ask(self.detector, *[step("ls", "a b c")] * 3).repetitions == 3

    def test_a_result_that_changes_starts_the_count_anew(self):
        alpha, beta = step("read", "alpha"), step("read", "beta")
        assert ask(self.detector, alpha, alpha, beta, beta) is None
        assert ask(self.detector, alpha, beta, beta, beta).indices == (1, 2, 3)

    def test_polling_with_changing_results_is_left_alone(self):
        assert ask(self.detector, *(step("status", f"{n}% done", job=5) for n in range(20))) is None

    def test_unknown_results_differ_from_nothing(self):
        assert ask(self.detector, LS, LS, LS).repetitions == 3
        assert ask(self.detector, step("ls", "a"), step("ls"), step("ls", "a")).repetitions == 3

    def test_unknown_results_do_not_bridge_results_that_differ(self):
        assert ask(self.detector, step("ls", "alpha"), step("ls"), step("ls", "beta")) is None

    def test_a_missing_result_is_unknown(self):
        calls, results = in_a_row(*[step("ls", "a b c")] * 3)
        assert self.detector.check(calls, results[:2]).repetitions == 3

    def test_noise_is_no_difference(self):
        run = (step("run", f"built at 12:00:0{n}, no changes", what="x") for n in range(3))
        assert ask(self.detector, *run).repetitions == 3

    def test_a_text_and_a_result_that_succeeded_are_the_same(self):
        run = [step("ls", "a b"), step("ls", ToolResult("a b")), step("ls", "a b")]
        assert ask(self.detector, *run).repetitions == 3

    def test_falsy_results_are_results(self):
        assert ask(self.detector, step("ls", ""), step("ls", ""), step("ls", "x")) is None
        assert ask(self.detector, *[step("ls", "")] * 3).repetitions == 3


class TestPatience:
    detector = RepeatDetector(3, require_same_result=True, patience=6)

    def test_work_under_way_is_worth_asking_again(self):
        assert ask(self.detector, *[POLL] * 5) is None

    def test_but_not_for_ever(self):
        assert ask(self.detector, *[POLL] * 6).repetitions == 6

    def test_there_is_no_patience_with_other_answers(self):
        assert ask(self.detector, *[step("status", "all quiet", job=5)] * 3).repetitions == 3

    @pytest.mark.parametrize(
        "silent",
        [
            step("cd", "", input="cd .."),
            step("press_key", "(no output)", key="Down"),
            step("undo_edit", "", path="a.py"),
            step("scroll_down", "Scrolled down 1 page"),
        ],
    )
    def test_a_tool_that_moves_may_go_on(self, silent):
        assert ask(self.detector, *[silent] * 5) is None
        assert ask(self.detector, *[silent] * 6).repetitions == 6

    @pytest.mark.parametrize(
        "silent",
        [
            step("bash", "", command="make all"),
            step("write_file", "", path="a.py", text="x = 1"),
        ],
    )
    def test_other_silence_gets_no_patience(self, silent):
        assert ask(self.detector, *[silent] * 3).repetitions == 3


class TestUnseenResults:
    """Some tools run at the provider and never show their results."""

    detector = RepeatDetector(3, require_same_result=True)

    def test_news_beside_them_starts_the_count_anew(self):
        run = [[LS, step("read", f"the story of {word}", of=word)] for word in ("a", "b", "c")]
        assert ask_rounds(self.detector, *run) is None

    def test_nothing_new_beside_them_does_not(self):
        run = [[LS, step("read", "the same story", of=word)] for word in ("a", "b", "c")]
        assert ask_rounds(self.detector, *run).details["tool"] == "ls"

    def test_failures_beside_them_do_not(self):
        run = [[LS, step("read", f"Error: {word} is missing", of=word)] for word in ("a", "b", "c")]
        assert ask_rounds(self.detector, *run).details["tool"] == "ls"

    def test_alone_they_count(self):
        assert ask(self.detector, LS, LS, LS).repetitions == 3

    def test_what_came_before_them_is_still_compared(self):
        run = [step("ls", "alpha"), step("ls", "beta"), step("ls")]
        assert ask(self.detector, *run) is None
        assert ask(self.detector, run[1], run[1], run[2]).repetitions == 3


class TestBesideNewWork:
    """A reply of which half is new work may look at the same things beside it."""

    detector = RepeatDetector(3, require_same_result=True)
    same = (step("ls", "a.py", path="."), step("cat", "alpha", path="a"))

    def rounds(self, count, same, new):
        work = [step("run", f"the story of {word}", of=word) for word in "abcdefghijklmnopqr"]
        return [[*self.same[:same], *work[at * new : (at + 1) * new]] for at in range(count)]

    @pytest.mark.parametrize(("same", "new"), [(1, 1), (2, 2), (1, 3)])
    def test_half_a_reply_of_new_work_takes_twice_the_rounds(self, same, new):
        assert ask_rounds(self.detector, *self.rounds(5, same, new)) is None
        found = ask_rounds(self.detector, *self.rounds(6, same, new))
        assert (found.repetitions, found.may_end_run) == (6, False)

    def test_it_is_said_again_only_eight_rounds_later(self):
        detector = LoopDetector([self.detector], Escalation(("notify", "block")))
        found = verdicts(detector, *self.rounds(14, 1, 1))
        told = [(at, each.action.value) for at, each in enumerate(found, 1) if each.detection]
        assert told == [(6, "notify"), (14, "block")]

    def test_less_does_not(self):
        assert ask_rounds(self.detector, *self.rounds(2, 2, 1)) is None
        assert ask_rounds(self.detector, *self.rounds(3, 2, 1)).repetitions == 3

    def test_a_repetition_without_new_work_does_not(self):
        first, second, third = self.rounds(3, 1, 1)
        assert ask_rounds(self.detector, first, second, third[:1]).repetitions == 3

    @pytest.mark.parametrize(("idle", "may_end_run"), [(1, False), (3, False), (4, True)])
    def test_most_of_the_last_eight_repetitions_decide_whether_it_may_end_the_run(
        self, idle, may_end_run
    ):
        worked, stuck = self.rounds(9, 1, 1), self.rounds(idle, 1, 0)
        found = ask_rounds(self.detector, *worked, *stuck)
        assert (found.repetitions, found.may_end_run) == (9 + idle, may_end_run)


class TestPartOfPoll:
    """Of several jobs that are asked together some end first, and their answers stay."""

    PRESETS = pytest.mark.parametrize("preset", [LoopDetector.default, LoopDetector.escalating])

    def rounds(self, ends, count):
        def state(job, at):
            return json.dumps({"id": job, "status": "done" if at >= ends[job] else "running"})

        jobs = range(len(ends))
        return [[step("get_job", state(job, at), job=job) for job in jobs] for at in range(count)]

    @given(st.lists(st.integers(0, 9), min_size=2, max_size=4))
    def test_those_that_have_ended_are_no_loop_while_one_goes_on(self, ends):
        rounds = self.rounds(ends, max(ends) + 1)
        assert {each.action.value for each in verdicts(LoopDetector.default(), *rounds)} == {
            "continue"
        }
        # A notice is all that weak evidence of other kinds may bring.
        told = {each.action.value for each in verdicts(LoopDetector.escalating(), *rounds)}
        assert told <= {"continue", "notify"}

    def test_once_all_have_ended_they_are_one(self):
        said = verdicts(LoopDetector.default(), *self.rounds((0, 4), 4 + 3))
        assert [each.action.value for each in said] == ["continue"] * 6 + ["raise"]
        assert said[-1].detection.detector_name == "repeat"

    @PRESETS
    def test_patience_with_one_that_never_ends_has_a_limit(self, preset):
        said = verdicts(preset(), *self.rounds((0, 99), 13))
        assert {each.action.value for each in said} != {"continue"}

    def test_a_job_that_joins_later_makes_it_none(self):
        done, joined = self.rounds((0, 99), 3), step("get_job", '{"status": "done"}', job=7)
        detector = RepeatDetector(3, require_same_result=True, patience=9)
        assert ask_rounds(detector, *done) is None
        assert ask_rounds(detector, *done[:2], [*done[2], joined]).repetitions == 3


@pytest.mark.parametrize("preset", [LoopDetector.default, LoopDetector.escalating])
def test_a_check_beside_each_new_edit_is_no_loop_though_no_answer_is_known(preset):
    monitor = preset().monitor()
    for number in range(5):
        edit = ToolCall("edit_file", {"path": "a.py", "old": f"x{number}", "new": f"y{number}"})
        assert monitor.after([edit, ToolCall("run_tests")], []).action.value == "continue"
    told = [monitor.after([edit, ToolCall("run_tests")], []).action.value for _ in range(5)]
    assert told != ["continue"] * 5
