import pytest
from runs import ask, failed, step

from antiloop import LoopDetector, RepeatDetector, ToolCall
from antiloop.loop_detection import Escalation, RepeatedFinishDetector, ToolPolicy
from antiloop.loop_detection._evidence.window import Window


def done(number, tool="task_done"):
    return step(tool, f"Summary {number}", message=f"Summary {number}")


def look(number):
    return step("bash", f"patch {'x' * number}", command=f"head -n {number} a.diff > b.diff")


@pytest.mark.parametrize("tool", ["task_done", "finish", "submit", "markComplete"])
def test_a_run_that_is_finished_three_times_is_found(tool):
    run = [done(1, tool), look(1), done(2, tool), look(2), done(3, tool)]
    assert ask(RepeatedFinishDetector(3), *run[:3]) is None
    found = ask(RepeatedFinishDetector(3), *run)
    assert found.message == (
        f"Tool {tool!r} declared the run finished 3 times; nothing was edited since the first."
    )
    assert (found.indices, found.refused) == ((0, 2, 4), ())


def test_an_edit_in_between_is_progress():
    run = [done(1), done(2), step("edit_file", "saved", text="new"), done(3)]
    assert ask(RepeatedFinishDetector(3), *run) is None


def test_an_edit_that_failed_is_none():
    run = [done(1), done(2), failed("edit_file", "Error: no such line", text="new"), done(3)]
    assert ask(RepeatedFinishDetector(3), *run).repetitions == 3


def test_a_finish_that_is_refused_and_one_that_is_not_are_different_ends():
    refused = failed("task_done", "Error: the tests fail", message="Summary 1")
    assert ask(RepeatedFinishDetector(2), refused, done(1)) is None
    assert ask(RepeatedFinishDetector(2), done(1), refused) is None
    assert ask(RepeatedFinishDetector(2), done(1), refused, refused).repetitions == 2


@pytest.mark.parametrize("tool", ["complete_order", "done_list", "finish_line_search"])
def test_tools_whose_names_only_begin_so_are_left_alone(tool):
    assert ask(RepeatedFinishDetector(2), *(done(n, tool) for n in range(5))) is None


def test_other_calls_after_it_are_left_alone():
    assert ask(RepeatedFinishDetector(2), done(1), done(2), look(1)) is None


def test_a_message_of_the_user_begins_anew():
    monitor = LoopDetector([RepeatedFinishDetector(2)]).monitor()
    for number in range(4):
        made, answer = done(number)
        assert monitor.after([made], [answer]).action.value == "continue"
        monitor.user_message()


def test_a_tool_may_have_its_own_threshold():
    calls, results = zip(done(1), done(2))
    policy = ToolPolicy(thresholds={"repeated_finish": 2})
    window = Window(policies={"task_done": policy}).fill(calls, results)
    assert RepeatedFinishDetector(3).find(window).repetitions == 2


def test_nothing_is_found_where_nothing_was_called():
    assert RepeatedFinishDetector(2).check([], []) is None


def test_a_threshold_below_two_is_refused():
    with pytest.raises(ValueError, match="threshold must be a whole number, 2 or more, got 1"):
        RepeatedFinishDetector(1)


@pytest.mark.parametrize("ladder", ["block", ("notify", "block", "stop")])
def test_a_finish_is_never_refused(ladder):
    policy = ladder if isinstance(ladder, str) else Escalation(ladder)
    detector = LoopDetector([RepeatDetector(2, name="checks"), RepeatedFinishDetector(2)], policy)
    monitor = detector.monitor()
    for _ in range(3):
        monitor.record_call("check", {}, "3 failed")  # a loop that was told, and refused
    told = [monitor.record_call(*call).action.value for call in FINISHES]
    assert told == ["continue", "notify", "stop", "stop"]
    assert monitor.before(ToolCall("finish", {"message": "Summary 1"})).action.value == "continue"


FINISHES = [("finish", {"message": f"Summary {n}"}, f"Summary {n}") for n in range(4)]


@pytest.mark.parametrize("tool", ["mark_done", "set_finished", "submit"])
@pytest.mark.parametrize("name", ["ticket", "T12", "INV-003"])
def test_what_is_finished_may_be_named_by_a_word_with_a_number(tool, name):
    stem = name.rstrip("0123456789")
    run = [step(tool, "ok", which=f"{stem}{number}") for number in range(6)]
    assert ask(RepeatedFinishDetector(3), *run) is None
    assert ask(RepeatedFinishDetector(3), *[step(tool, "ok", which=f"{stem}7")] * 3) is not None
    answers = [step(tool, "ok", answer=str(number)) for number in range(6)]
    assert ask(RepeatedFinishDetector(3), *answers) is not None
