import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import ask, failed, step

from antiloop.loop_detection import PersistentFailureDetector, ToolPolicy
from antiloop.loop_detection._evidence.window import Window

ERROR = "Error: symbol 'main' is undefined"


def edits(count, answer, tool="build"):
    """An edit before each attempt, ever another one."""
    for number in range(count):
        yield step("edit", "saved", text=f"attempt {number}")
        yield failed(tool, answer)


@pytest.mark.parametrize("count", [4, 5])
def test_the_same_failure_after_five_different_edits_is_found(count):
    found = ask(PersistentFailureDetector(5), *edits(count, ERROR))
    assert (found is not None) == (count == 5)


def test_it_is_told_what_failed_and_how_often():
    found = ask(PersistentFailureDetector(3), *edits(3, ERROR))
    assert found.message == (
        "Tool 'build' was called 3 times with the same arguments and failed in the same way, "
        "whatever was changed in between."
    )
    assert (found.indices, found.details["count"]) == ((1, 3, 5), 3)


def test_another_answer_begins_the_count_anew():
    run = [*edits(3, ERROR), failed("build", "Error: a file is missing"), *edits(3, ERROR)]
    assert ask(PersistentFailureDetector(4), *run) is None
    assert ask(PersistentFailureDetector(3), *run).indices == (8, 10, 12)


def test_a_success_in_between_begins_the_count_anew():
    run = [*edits(3, ERROR), step("build", "all is well"), *edits(3, ERROR)]
    assert ask(PersistentFailureDetector(4), *run) is None


@given(st.lists(st.integers(1, 999), min_size=5, max_size=5))
def test_an_edit_moves_the_lines_of_the_same_failure(lines):
    run = [
        made
        for line in lines
        for made in (
            step("edit", "saved", text=f"down to {line}"),
            failed("build", f"main.c:{line}: error: symbol 'run' is undefined"),
        )
    ]
    assert ask(PersistentFailureDetector(5), *run).repetitions == 5


@given(st.lists(st.integers(400, 599), min_size=5, max_size=5).filter(lambda n: len(set(n)) > 1))
def test_another_number_is_another_failure(statuses):
    run = [failed("build", f"Error: the server said {status}") for status in statuses]
    assert ask(PersistentFailureDetector(5), *run) is None


@pytest.mark.parametrize("count", [14, 15])
def test_a_count_of_what_is_left_needs_three_times_as_many_rounds(count):
    found = ask(PersistentFailureDetector(5), *edits(count, "2 failed, 5 passed"))
    assert (found is not None) == (count == 15)


def test_less_left_to_do_is_a_step_forward():
    run = [*edits(3, "9 failed, 1 passed"), *edits(3, "2 failed, 8 passed")]
    found = ask(PersistentFailureDetector(2), *run)
    assert found is None or found.repetitions <= 3


def test_of_several_the_most_frequent_is_reported():
    calls, results = [], []
    for number in range(4):
        for made, answer in (failed("lint", ERROR), failed("build", ERROR))[number == 0 :]:
            calls.append(type(made)(made.tool_name, made.arguments, None, number))
            results.append(answer)
    found = PersistentFailureDetector(3).check(calls, results)
    assert (found.details["tool"], found.details["count"]) == ("build", 4)


def test_a_tool_may_have_its_own_threshold():
    calls, results = zip(*edits(3, ERROR))
    window = Window(policies={"build": ToolPolicy(thresholds={"persistent_failure": 3})}).fill(
        calls, results
    )
    assert PersistentFailureDetector(5).find(window).repetitions == 3


def test_nothing_is_found_where_nothing_was_called():
    assert PersistentFailureDetector(2).check([], []) is None


def test_a_threshold_below_two_is_refused():
    with pytest.raises(ValueError, match="threshold must be a whole number, 2 or more, got 1"):
        PersistentFailureDetector(1)


@pytest.mark.parametrize(
    ("answer", "needed"),
    [
        ("1 failed, 3 passed", 15),  # other tests may fail than before
        ("FAIL a.test.ts\n  TypeError: rows of undefined\nTests: 1 failed", 5),
    ],
)
def test_a_count_is_weaker_evidence_than_a_report(answer, needed):
    run = [*edits(needed, answer)]
    assert ask(PersistentFailureDetector(5), *run[:-2]) is None
    assert ask(PersistentFailureDetector(5), *run).details["count"] == needed
