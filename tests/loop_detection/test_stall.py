"""Equal results in consecutive rounds are a stall; healthy agents get equal results, too."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import ask, ask_rounds, in_a_row, step, verdicts

from antiloop import LoopDetector, StallDetector, ToolResult
from antiloop.loop_detection._evidence.fingerprint import text_fingerprint

PAGES = [step("get", "the same old page", url=f"/{name}") for name in "abcdefghijkl"]

NAMES = "home about contact imprint prices terms team jobs press partners".split()


def searches(count, answer="No results found."):
    return [step("search", answer, q=f"what is {name * 5}") for name in "abcdefghij"[:count]]


@pytest.mark.parametrize(
    "act",
    [
        step("computer", "", action="scroll", scroll_direction="down"),
        step("press_key", "", key="Tab"),
    ],
)
def test_silence_after_an_act_that_moves_on_is_no_stall(act):
    assert ask(StallDetector(3, only_fruitless=True), *[act] * 9) is None
    assert ask(StallDetector(3), *[act] * 3) is not None


def test_silence_beside_a_look_that_shows_more_is_no_stall():
    key = step("bash", "", command="xdotool key Next")
    detector = StallDetector(3, only_fruitless=True)
    rounds = [[key, step("look", f"page {'x' * number}")] for number in range(6)]
    assert ask_rounds(detector, *rounds) is None
    assert ask_rounds(detector, *rounds, *[[key, rounds[-1][1]]] * 5) is not None


def test_equal_results_as_many_as_the_threshold_are_a_stall():
    found = ask(StallDetector(3), *PAGES[:3])
    assert found.detector_name == "stall"
    assert found.message == "Tool 'get' returned the same result 3 times in a row."
    assert found.indices == (0, 1, 2)
    assert (found.repetitions, found.period, found.wasted_calls) == (3, 1, 2)


@pytest.mark.parametrize("threshold", [2, 3, 7])
def test_one_result_less_than_the_threshold_is_not_yet_a_stall(threshold):
    detector = StallDetector(threshold)
    assert ask(detector, *PAGES[: threshold - 1]) is None
    assert ask(detector, *PAGES[:threshold]).repetitions == threshold


def test_details_say_which_tool_how_often_and_which_result():
    found = ask(StallDetector(2), step("ls", "x"), *PAGES[:2])
    assert (found.details["tool"], found.details["count"]) == ("get", 2)
    assert found.details["result_hash"] == ask(StallDetector(2), *PAGES[3:6]).details["result_hash"]
    assert found.details["indices"] == [1, 2]
    assert json.loads(json.dumps(found.details)) == found.details


def test_the_arguments_make_no_difference():
    assert ask(StallDetector(3), *[PAGES[0]] * 3).repetitions == 3


def test_the_whole_streak_is_reported_however_long():
    run = [step("get", "the same old page", url=f"/{n}") for n in range(700)]
    found = ask(StallDetector(3), step("get", "another page", url="/"), *run)
    assert found.indices == tuple(range(1, 701))


def test_another_result_starts_the_count_anew():
    other = step("get", "another page", url="/z")
    assert ask(StallDetector(3), *PAGES[:2], other, *PAGES[2:4]) is None
    assert ask(StallDetector(3), *PAGES[:2], other, *PAGES[2:5]).indices == (3, 4, 5)


def test_equal_results_of_different_tools_are_no_stall():
    run = [step(tool, "done") for tool in ("build", "lint", "pack")]
    assert ask(StallDetector(2), *run) is None


def test_unknown_results_equal_nothing():
    run = [step("get", url=f"/{n}") for n in range(9)]
    assert ask(StallDetector(2), *run) is None
    assert ask(StallDetector(2), PAGES[0], run[0], PAGES[1]) is None


def test_missing_results_are_unknown():
    calls, results = in_a_row(*PAGES[:3])
    assert StallDetector(3).check(calls, results[:2]) is None


def test_nothing_is_found_in_nothing():
    assert StallDetector(2).check([], []) is None
    assert ask(StallDetector(2), PAGES[0]) is None


def test_falsy_results_are_results():
    assert ask(StallDetector(3), *searches(3, "")).repetitions == 3


def test_a_text_and_a_result_that_succeeded_are_the_same():
    same = [step("get", "page", url="/a"), step("get", ToolResult("page"), url="/b")]
    assert ask(StallDetector(2), *same).repetitions == 2


@pytest.mark.parametrize("threshold", [1, 0, True, 2.0, "3", None])
def test_a_threshold_that_could_mean_nothing_is_refused(threshold):
    with pytest.raises(ValueError, match="threshold must be a whole number, 2 or more, got"):
        StallDetector(threshold)


def test_less_patience_with_other_arguments_than_with_the_same_is_refused():
    with pytest.raises(ValueError, match="varied must be a whole number, 4 or more, got 3"):
        StallDetector(4, varied=3)


class TestRounds:
    def test_siblings_count_once(self):
        assert ask_rounds(StallDetector(2), PAGES[:6]) is None
        assert ask_rounds(StallDetector(2), PAGES[:6], PAGES[6:8]).repetitions == 2

    def test_order_inside_a_round_does_not_matter(self):
        other = [step("ls", f"{number} files", path=".") for number in range(3)]
        run = [[PAGES[0], other[0]], [other[1], PAGES[1]], [PAGES[2], other[2]]]
        assert ask_rounds(StallDetector(3), *run).details["tool"] == "get"

    @pytest.mark.parametrize("order", [1, -1])
    def test_among_siblings_the_one_with_the_nearest_arguments_is_compared(self, order):
        detector = StallDetector(3, only_fruitless=True, varied=5)
        here, there = (step("read", "Error: page 3 is missing", query=q) for q in ("cats", "dogs"))
        siblings = [here, there][::order]
        assert ask_rounds(detector, [here], siblings, siblings[::-1]).repetitions == 3

    def test_the_longest_of_several_streaks_is_reported(self):
        run = [[step("ls", "x", path=n), PAGES[n]] for n in range(3)]
        found = ask_rounds(StallDetector(2), [PAGES[5]], *run)
        assert (found.details["tool"], found.repetitions) == ("get", 4)


class TestOnlyFruitless:
    detector = StallDetector(3, only_fruitless=True, varied=5)

    @pytest.mark.parametrize("answer", ["ok", "true", "File saved.", "Attached.", '{"done": true}'])
    def test_acknowledgements_are_left_alone(self, answer):
        run = [step("attach", answer, file=f"{n}.txt") for n in range(12)]
        assert ask(self.detector, *run) is None

    @pytest.mark.parametrize("answer", ["", "(no output)", "[]", "No results found."])
    def test_empty_answers_to_new_questions_are_left_alone(self, answer):
        assert ask(self.detector, *searches(10, answer)) is None

    @pytest.mark.parametrize("answer", ["[]", "No results found."])
    def test_empty_answers_to_nearly_the_same_question_are_a_stall(self, answer):
        run = [step("search", answer, q="cats and dogs", request_id=f"r{n}") for n in range(5)]
        assert ask(self.detector, *run[:4]) is None
        assert ask(self.detector, *run).repetitions == 5

    def test_the_same_failure_counts_whatever_it_echoes(self):
        run = [step("get", f"Error: page {name} not found", page=name) for name in NAMES[:5]]
        assert ask(self.detector, *run[:4]) is None
        found = ask(self.detector, *run)
        assert found.repetitions == 5
        assert found.details["result_hash"] == text_fingerprint(run[-1][1])[:10]

    def test_the_same_failure_of_nearly_the_same_call_counts_earlier(self):
        run = [step("get", "Error: 404", page="a", request_id=n) for n in range(3)]
        assert ask(self.detector, *run[:2]) is None
        assert ask(self.detector, *run).repetitions == 3

    def test_different_failures_are_left_alone(self):
        texts = ("name missing", "wrong day", "no room left", "unknown host", "access denied")
        run = [step("book", f"Error: {text}", day=n) for n, text in enumerate(texts)]
        assert ask(self.detector, *run) is None

    def test_a_failure_and_a_success_are_not_the_same(self):
        run = [step("get", "Error: 404", page="a", request_id=n) for n in range(2)]
        assert ask(self.detector, *run, step("get", "page a", page="a"), *run) is None

    def test_a_long_answer_to_ever_new_questions_counts(self):
        run = [step("get", "the same long page. " * 40, url=f"/{name}") for name in "abcde"]
        assert ask(self.detector, *run[:4]) is None
        assert ask(self.detector, *run).repetitions == 5

    def test_failures_with_equal_words_are_one_loop(self):
        first = [step("get", f"Error: page {name} not found", page=name) for name in NAMES[:5]]
        later = [step("get", f"Error: page {name} not found", page=name) for name in NAMES[5:]]
        assert ask(self.detector, *first).identity == ask(self.detector, *later).identity


def test_less_left_to_do_begins_the_streak_anew():
    run = [step("test", f"{left} failed", of=of) for of, left in (("a", 9), ("b", 5), ("c", 5))]
    detector = StallDetector(2, only_fruitless=True)
    assert ask(detector, *run).indices == (1, 2)
    assert ask(detector, *run[:2]) is None


@given(
    st.sampled_from(["Error: over the limit", "Fehler: zu viele Anfragen", '{"error": "E_BUSY"}']),
    st.integers(1, 4),
    st.integers(0, 4),
)
@pytest.mark.parametrize("preset", ["default", "escalating", "thorough"])
def test_one_failure_beside_new_answers_is_no_stall(preset, said, siblings, place):
    def replies(others):
        for n in range(9):
            reply = [step("locate", said_there(n, k), at=f"{n}{k}") for k in range(others)]
            reply.insert(place, step("locate", said, at=f"{n}x"))
            yield reply

    def said_there(n, k):
        return f"It is in the {NAMES[n]} of the {NAMES[k]} there."

    detector = getattr(LoopDetector, preset)()
    found = verdicts(detector, *replies(siblings))
    assert {each.action.value for each in found} == {"continue"}
    assert {each.action.value for each in verdicts(detector, *replies(0))} != {"continue"}
