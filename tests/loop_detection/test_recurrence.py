"""A call that comes back to the same answer is a loop, unless something new is learnt or done."""

import json

import pytest
from runs import ask, ask_rounds, fresh_answers, step, verdicts

from antiloop import LoopDetector
from antiloop.loop_detection import RecurrenceDetector

TEST = step("test", "2 failed today", suite="all")
POLL = step("status", "still running", job=1)


def reads(count):
    """Calls that each tell something new."""
    answers = fresh_answers()
    return [step("read", next(answers), page=number) for number in range(count)]


def mixed(call, others):
    """Put a call before each of the others, and at the end."""
    return [each for other in others for each in (call, other)] + [call]


def in_rounds(steps):
    return [[each] for each in steps]


def test_a_call_that_comes_back_as_often_as_the_threshold_is_found():
    found = ask(RecurrenceDetector(4), *mixed(TEST, reads(3)))
    assert found.detector_name == "recurrence"
    assert found.message == (
        "Tool 'test' was called 4 times with the same arguments; nothing new came back."
    )
    assert found.indices == (0, 2, 4, 6)
    assert found.repetitions == 4
    assert found.details["arguments"] == {"suite": "all"}
    assert json.loads(json.dumps(found.details)) == found.details


@pytest.mark.parametrize("threshold", [2, 4, 6])
def test_once_less_is_not_yet_found(threshold):
    detector = RecurrenceDetector(threshold)
    assert ask(detector, *mixed(TEST, reads(threshold - 2))) is None
    assert ask(detector, *mixed(TEST, reads(threshold - 1))).repetitions == threshold


def test_more_news_in_between_than_calls_is_no_loop():
    news = reads(6)
    run = [TEST, *news[:2], TEST, *news[2:4], TEST, *news[4:], TEST]
    assert ask(RecurrenceDetector(4), *run) is None


def test_nothing_new_in_between_does_no_harm():
    old = step("read", "page one", page=1)
    run = [TEST, old, old, TEST, old, old, TEST, old, old, TEST]
    assert ask(RecurrenceDetector(4), *run).indices == (0, 3, 6, 9)


def test_a_new_change_in_between_is_progress():
    edits = [step("edit", "ok", text=f"version {number}") for number in range(6)]
    assert ask(RecurrenceDetector(3), *mixed(TEST, edits)) is None


def test_the_same_change_over_and_over_is_none():
    edits = [step("edit", "ok", text="version 1")] * 4
    assert ask(RecurrenceDetector(4), *mixed(TEST, edits)).repetitions == 4


def test_a_change_that_failed_is_none():
    edits = [step("edit", "Error: no such line", text=f"version {n}") for n in range(3)]
    assert ask(RecurrenceDetector(4), *mixed(TEST, edits)).repetitions == 4


def test_another_answer_of_the_call_begins_anew():
    run = [TEST, TEST, step("test", "all green now", suite="all"), TEST, TEST]
    assert ask(RecurrenceDetector(3), *run) is None


def test_what_finds_nothing_is_no_evidence():
    assert ask(RecurrenceDetector(2), *[step("find", "[]")] * 9) is None


def test_unknown_results_do_not_keep_a_call_from_coming_back():
    assert ask(RecurrenceDetector(4), *[step("ls")] * 4).repetitions == 4


def test_work_under_way_is_worth_asking_again():
    detector = RecurrenceDetector(4, patience=6)
    assert ask(detector, *[POLL] * 5) is None
    assert ask(detector, *[POLL] * 6).repetitions == 6


def test_the_most_frequent_of_several_is_reported():
    other = step("ls", "a b")
    run = [[TEST], [TEST, other], [TEST, other], [other, TEST]]
    found = ask_rounds(RecurrenceDetector(3), *run)
    assert (found.details["tool"], found.repetitions) == ("test", 4)


def test_news_beside_the_call_is_news():
    answers = fresh_answers()
    run = [[TEST, step("read", next(answers), page=number)] for number in range(4)]
    assert ask_rounds(RecurrenceDetector(4), *run[:3], [TEST]) is not None
    run = [each for number, one in enumerate(run) for each in (one, reads(5 * number)[-1:]) if each]
    assert ask_rounds(RecurrenceDetector(4), *run) is None


@pytest.mark.parametrize("beside", [reads(1)[0], step("edit", "ok", text="version 1")])
def test_a_round_that_brings_something_else_is_left_alone(beside):
    old = step("read", "page one", page=1)
    run = [[TEST], [old], [TEST], [old]]
    assert ask_rounds(RecurrenceDetector(3), *run, [TEST, beside]) is None
    assert ask_rounds(RecurrenceDetector(3), *run, [TEST, old]).repetitions == 3


def test_numbers_that_could_mean_nothing_are_refused():
    with pytest.raises(ValueError, match="threshold must be a whole number, 2 or more, got 1"):
        RecurrenceDetector(1)
    with pytest.raises(ValueError, match="patience must be a whole number, 4 or more, got 3"):
        RecurrenceDetector(4, patience=3)


@pytest.mark.parametrize("edit", ["sed -i s/1/{}/ a.py", "cat > a.py <<EOF {}"])
@pytest.mark.parametrize("answer", ["", "done"])
def test_a_test_run_again_after_each_edit_from_the_shell_is_left_alone(edit, answer):
    monitor = LoopDetector.escalating().monitor()
    for number in range(12):
        for command, result in (("pytest -q", "2 failed"), (edit.format(number), answer)):
            verdict = monitor.record_call("bash", {"command": command}, result)
            assert verdict.action.value == "continue"


def test_reads_from_the_shell_are_no_change():
    monitor = LoopDetector.escalating().monitor()
    said = []
    for number in range(5):
        for command, result in (("pytest -q", "2 failed"), (f"cat f{number}", f"text {number}")):
            said.append(monitor.record_call("bash", {"command": command}, result).action.value)
    assert "notify" in said


def test_a_call_may_be_far_apart_where_nothing_is_new():
    other = [("look", {"at": n}, "still the same text") for n in range(7)]
    calls = [each for _ in range(4) for each in (("test", {}, "2 failed today"), *other)]
    run = [step(name, result, **arguments) for name, arguments, result in calls]
    assert ask(RecurrenceDetector(4), *run[:-7]).repetitions == 4


@pytest.mark.parametrize(("leave_cycles", "first"), [(False, 5), (True, 7)])
def test_two_rounds_in_turn_may_be_left_to_the_cycle_detector(leave_cycles, first):
    run = [step("ls", "a b c"), step("read", "hello there")] * 4
    detector = RecurrenceDetector(3, leave_cycles=leave_cycles)
    found = [number for number in range(1, 9) if ask(detector, *run[:number])]
    assert found[0] == first


def test_other_rounds_between_are_no_cycle():
    ls = step("list", "a b c")
    run = [ls, step("read", "b"), ls, step("cat", "c"), ls]
    assert ask(RecurrenceDetector(3, leave_cycles=True), *run).repetitions == 3


def test_a_call_in_turn_with_new_answers_is_not_left_to_the_cycle_detector():
    answers = fresh_answers("the search found {}")
    run = [each for _ in range(3) for each in (TEST, step("judge", next(answers)))][:-1]
    assert ask(RecurrenceDetector(3, leave_cycles=True), *run).repetitions == 3
    assert ask(RecurrenceDetector(3, leave_cycles=True), *run[:-1]) is None


def test_to_look_at_the_same_beside_new_work_is_told_and_for_long_no_more():
    assert ask(RecurrenceDetector(4), *mixed(TEST, reads(3))).spacing == 8
    # Once nothing was new in between.
    assert ask(RecurrenceDetector(4), TEST, *mixed(TEST, reads(3))[:-2], TEST).spacing == 1


@pytest.mark.parametrize("said", ["[]", "No new messages.", "3 unread: Ann, Bob and Cid"])
def test_a_look_into_the_box_after_each_piece_of_work_ends_no_run(said):
    run = mixed(step("check_box", said), reads(5))
    actions = [each.action.value for each in verdicts(LoopDetector.escalating(), *in_rounds(run))]
    assert "notify" in actions
    assert "stop" not in actions


def test_to_fail_in_the_same_way_beside_new_work_still_ends_it():
    run = mixed(step("check_box", "Error: the box is locked"), reads(5))
    actions = [each.action.value for each in verdicts(LoopDetector.escalating(), *in_rounds(run))]
    assert "stop" in actions
