"""A window holds the last calls in rounds, and no more than its size."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import in_rounds, step

from antiloop import ToolCall
from antiloop.loop_detection import ToolPolicy
from antiloop.loop_detection._evidence.outcome import REFUSED_MARKER
from antiloop.loop_detection._evidence.sameness import differ, say_alike
from antiloop.loop_detection._evidence.window import Window

LS, CAT = step("ls", "a b"), step("cat", "hello")


def indices(window):
    """Return the calls of a window, round by round."""
    return [[item.index for item in each.evidence] for each in window.rounds]


def items(*steps, **options):
    """Return what a window keeps of a run in which each step is a round of its own."""
    return list(Window(**options).fill(*in_rounds(*([each] for each in steps))))


def test_calls_of_one_number_are_one_round():
    window = Window().fill(*in_rounds([LS, CAT], [LS], [CAT]))
    assert indices(window) == [[0, 1], [2], [3]]


def test_calls_without_a_number_are_rounds_of_their_own():
    assert indices(Window().fill([ToolCall("ls")] * 3, [])) == [[0], [1], [2]]


def test_equal_siblings_are_kept_once():
    assert indices(Window().fill(*in_rounds([LS, CAT, LS, LS]))) == [[0, 1]]


def test_calls_of_a_round_may_come_one_by_one():
    window = Window()
    for made, result in (LS, CAT, LS):
        window.append([ToolCall(made.tool_name, {}, round=1)], [result])
    window.append([ToolCall("ls", round=2)], ["a b"])
    assert indices(window) == [[0, 1], [3]]
    assert window.call_count == 4


def test_siblings_that_come_one_by_one_are_no_news_for_each_other():
    window = Window()
    for name in ("one", "two"):
        window.append([ToolCall("get", {"page": name}, round=1)], ["the same page"])
    assert [item.is_fresh for item in window] == [True, True]


def test_a_result_is_unseen_only_beside_something_new():
    def unseen(*results):
        calls = [ToolCall("get", {"page": number}, round=1) for number in range(len(results))]
        window = Window()
        window.append(calls, results)
        return [item.is_unseen for item in window]

    assert unseen(None, "a page") == [True, False]
    assert unseen(None, "Error: no such page") == [False, False]
    assert unseen(None, None) == [False, False]
    assert unseen(None) == [False]


def test_an_empty_round_is_none():
    window = Window()
    window.append([], [])
    assert (window.rounds, window.call_count) == ([], 0)


def test_only_the_last_calls_are_kept():
    run = in_rounds(*([step("read", n=n), step("look", n=n)] for n in range(10)))
    first, *others = indices(Window(5).fill(*run))
    assert first in ([14], [15])  # one of two calls of the same round
    assert others == [[16, 17], [18, 19]]
    window = Window(5)
    for number in range(10):
        window.append(run[0][2 * number : 2 * number + 2], [])
    assert indices(window) == [first, *others]
    assert window.call_count == 20


def test_a_round_larger_than_the_window_keeps_the_same_calls_in_any_order():
    steps, kept = [step("read", n=n) for n in range(9)], []
    for each in (steps, steps[::-1]):
        window = Window(3)
        window.append(*in_rounds(each))
        kept.append({item.features.call for item in window})
    assert len(kept[0]) == 3
    assert kept[0] == kept[1]


def test_exempt_calls_are_counted_and_not_kept():
    window = Window(policies={"ls": ToolPolicy(exempt=True)})
    window.append(*in_rounds([LS, CAT]))
    window.append(*in_rounds([LS]))
    assert indices(window) == [[1]]
    assert window.call_count == 3


@pytest.mark.parametrize("name", [None, ["ls"], {"name": "ls"}, 5])
def test_a_name_that_is_no_text_is_a_name_of_which_nothing_is_declared(name):
    window = Window(policies={"ls": ToolPolicy(exempt=True)}, counted=["ls"])
    window.append([ToolCall(name, {})], [])
    assert indices(window) == [[0]]


def test_a_window_that_is_cleared_forgets_calls_but_not_their_number():
    window = Window().fill(*in_rounds([LS], [CAT]))
    window.clear()
    window.append([ToolCall("ls")], ["a b"])
    assert indices(window) == [[2]]
    assert [item.is_fresh for item in window] == [True]


class TestNovelty:
    def test_an_answer_is_fresh_once(self):
        assert [item.is_fresh for item in items(LS, LS, CAT)] == [True, False, True]

    def test_another_call_with_an_old_answer_brings_nothing_new(self):
        other = step("ls", "a b", path="/")
        assert [item.is_fresh for item in items(LS, other)] == [True, False]

    def test_an_answer_that_says_back_what_was_given_brings_nothing_new(self):
        for said, is_fresh in (("SELECT b ", False), ("SELECT b -- fine", True)):
            checked = step("check", said, sql="SELECT b", strict=True)
            assert [item.is_fresh for item in items(LS, checked)] == [True, is_fresh]
        whole = ToolCall("check", "SELECT b")
        assert [item.is_fresh for item in items((whole, "SELECT b"))] == [True]

    def test_the_answer_of_another_tool_is_another_answer(self):
        assert [item.is_fresh for item in items(LS, step("dir", "a b"))] == [True, True]

    def test_failures_and_empty_answers_are_never_fresh(self):
        run = (step("get", "Error: 404"), step("find", "[]"), step("job", "still running"))
        assert not any(item.is_fresh for item in items(*run))

    def test_silence_is_fresh_where_the_call_is_new(self):
        run = (step("run", "", c=1), step("run", "", c=2), step("run", "", c=1))
        assert [item.is_fresh for item in items(*run)] == [True, True, False]

    def test_a_call_is_fresh_where_its_answer_is_not_known(self):
        run = (step("press", key="a"), step("press", key="b"), step("press", key="a"))
        assert [item.is_fresh for item in items(*run)] == [True, True, False]

    def test_what_left_the_window_is_fresh_again(self):
        window = Window(2)
        for made, result in (LS, CAT, step("cat", "bye"), LS):
            window.append([made], [result])
        assert [item.is_fresh for item in window] == [True, True]

    def test_a_change_is_one_that_is_new_and_went_well(self):
        def is_change(tool, text, times=1):
            return items(*[step(tool, text, line=1)] * times)[-1].is_change

        assert is_change("edit", "ok")
        assert is_change("edit", None)
        assert not is_change("edit", "ok", times=2)
        assert not is_change("edit", "Error: no such line")
        assert not is_change("view", "ok")

    def test_a_long_answer_that_was_seen_acknowledges_nothing(self):
        listing = "the same listing again " * 50
        run = [step("edit", listing, line=n) for n in range(2)]
        assert [item.is_change for item in items(*run)] == [True, False]

    def test_only_a_call_and_an_answer_that_were_both_seen_are_known(self):
        other = step("ls", "a b", path="/")
        assert [item.is_known for item in items(LS, other, LS)] == [False, False, True]


def test_results_differ_if_both_are_known_and_more_than_noise_is_different():
    def features(text):
        (item,) = items(step("read", text))
        return item.features

    assert differ(features("alpha"), features("beta"))
    assert not differ(features("alpha"), features("alpha"))
    assert not differ(features("alpha"), features(None))
    assert not differ(features(None), features(None))
    assert differ(features("alpha"), features(f"{REFUSED_MARKER} no"))
    assert not differ(features("alpha"), features(f"{REFUSED_MARKER} no").refused())
    assert not differ(features("at 12:00:01 ok"), features("at 12:00:02 ok"))


@given(
    st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=4), max_size=40), st.integers(2, 9)
)
def test_a_window_holds_what_it_says_and_no_more(run, size):
    window = Window(size)
    for number, calls in enumerate(run):
        window.append([ToolCall("f", {"n": n}, round=number) for n in calls], [])
        assert 0 < len(list(window)) <= size
        assert all(each.evidence for each in window.rounds)
        for item in window:
            rounds = [each for each in window.rounds if item.features.call in each.calls]
            assert window.occurrences.came(item.features) == len(rounds)
    assert window.call_count == sum(map(len, run))


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["a b", "c d", None])), max_size=30))
def test_what_a_window_knows_is_what_it_holds(run):
    window = Window(6)
    for number, (n, text) in enumerate(run):
        held = [(item.features.call, item.features.result) for item in window]
        window.append([ToolCall("f", {"n": n}, round=number)], [text])
        (item,) = window.rounds[-1].evidence
        was_held = (item.features.call, item.features.result) in held
        assert item.is_known is (was_held and text is not None)


ANSWERS = ["a b", "Error: a 1", "Error: a 2", "Error: b", "No results found.", "", "running", None]


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 2), st.sampled_from(ANSWERS), st.booleans()),
        max_size=40,
    )
)
def test_no_more_calls_say_alike_than_were_counted(run):
    window = Window(7)
    for number, n, text, is_alone in run:
        call = ToolCall(f"f{n}", {"n": number}, round=None if is_alone else 1)
        window.append([call], [text])
        for item in window.rounds[-1].evidence:
            alike = [
                other
                for other in window
                if other.features.tool == item.features.tool
                and say_alike(other.features, item.features)
            ]
            assert window.occurrences.count_possibly_alike(item.features) >= len(alike)
    fresh = Window()
    for each in window.rounds:
        fresh.add(each)
    assert vars(window.occurrences) == vars(fresh.occurrences)


def test_a_threshold_is_that_of_the_tool_where_one_is_declared():
    window = Window(policies={"poll": ToolPolicy(thresholds={"repeat": 9})})
    tools = ("poll", "ls")
    assert [window.threshold("repeat", tool, 3) for tool in tools] == [9, 3]
    assert window.threshold("stall", "poll", 4) == Window().threshold("repeat", "poll", 4) == 4


def test_calls_are_counted_in_the_run_and_in_the_turn():
    window = Window(2, counted=["look", "x" * 200])
    for number in range(3):
        calls = [ToolCall("look", {"n": number}), ToolCall("look"), ToolCall("x" * 200)]
        window.append([*calls, ToolCall(None)], [])
        if number == 1:
            window.start_turn()
    assert (window.count_of("look", False), window.count_of("look", True)) == (6, 2)
    assert (window.count_of("x" * 200, False), window.count_of("x" * 200, True)) == (3, 1)
    assert (window.count_of("other", False), window.count_of("other", True)) == (0, 0)
    assert (window.call_count, window.turn_calls, window.round_count) == (12, 4, 3)


def test_a_window_that_was_cleared_holds_as_many_calls_as_before():
    window = Window(3)
    for start in (0, 10):
        for number in range(start, start + 4):
            window.append([ToolCall("f", {"n": number})], ["x"])
        window.clear() if not start else None
    assert [item.index for item in window] == [5, 6, 7]
    assert [window.occurrences.came(item.features) for item in window] == [1, 1, 1]
    assert window.occurrences.answered(window.rounds[-1].evidence[0].features) == 3


def test_a_call_that_does_something_each_time_equals_no_other():
    policies = {"roll": ToolPolicy(idempotent=False)}
    window = Window(policies=policies)
    for text in ("6", "6", "Error: boom", "Error: boom"):
        window.append([ToolCall("roll"), ToolCall("roll")], [text, text])
    calls = [[item.features.call for item in each.evidence] for each in window.rounds]
    assert [len(each) for each in calls] == [2, 2, 1, 1]
    assert calls[0] + calls[1] == [f"{n:010x}" for n in range(4)]
    assert calls[2] == calls[3]


def test_the_lowest_threshold_is_that_of_any_tool():
    policies = {
        "poll": ToolPolicy(thresholds={"repeat": 9}),
        "look": ToolPolicy(thresholds={"repeat": 2}),
    }
    window = Window(policies=policies)
    assert [window.lowest("repeat", usual) for usual in (3, 2, 9, 3)] == [2, 2, 2, 2]
    assert window.lowest("stall", 4) == 4
    assert Window().lowest("repeat", 3) == 3


def test_of_a_long_run_only_the_last_calls_are_looked_at():
    calls = [ToolCall("f", {"n": n}, round=n // 3) for n in range(12)]
    window = Window(4, counted=["f"]).fill(calls, ["x"] * 12)
    assert indices(window) == [[8], [9, 10, 11]]
    assert (window.call_count, window.count_of("f", False)) == (12, 12)
    # The round that is cut is read from its beginning on.
    assert [each.number for each in window.rounds] == [2, 3]
    whole = Window().fill(calls, ["x"] * 12)
    assert indices(whole) == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]


@pytest.mark.parametrize("size", range(1, 13))
@pytest.mark.parametrize("offset", range(5))
def test_a_run_is_cut_as_that_of_a_monitor_is(size, offset):
    calls = [ToolCall("f", {"n": n + offset}, round=n // 3) for n in range(12)]
    grown = Window(size)
    for first in range(0, 12, 3):
        grown.append(calls[first : first + 3], ["x"] * 3)
    made = Window(size).fill(calls, ["x"] * 12)
    assert indices(made) == indices(grown)
    assert made.call_count == grown.call_count


def test_the_first_count_of_failures_is_no_step_forward():
    texts = ["3 failed", "2 failed", "2 failed", "5 errors", "Error: boom", "1 failed"]
    made = items(*(step("test", text, n=n) for n, text in enumerate(texts)))
    assert [item.is_step_forward for item in made] == [False, True, False, False, False, True]


def test_a_call_of_a_window_names_what_is_compared_of_it():
    window = Window()
    window.append([ToolCall("look", {"n": 1})], ["a page"])
    [item] = window
    features = item.features
    assert (item.tool, item.call, item.result) == ("look", features.call, features.result)
    assert item.outcome == features.outcome
