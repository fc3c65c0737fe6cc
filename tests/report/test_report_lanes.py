"""Loops stand in straight lines: the lanes and marks of the report."""

from hypothesis import given
from hypothesis import strategies as st

from antiloop.report._data.lanes import LANES, lanes_of, letters, marks_of

calls = st.lists(st.sampled_from("abcdefghijkl"), max_size=60)


def test_a_repeat_is_one_straight_line():
    assert lanes_of("aaaa") == [0, 0, 0, 0]


def test_a_cycle_has_a_lane_for_each_of_its_calls():
    assert lanes_of("abcabcabc") == [0, 1, 2] * 3


def test_a_call_in_between_leaves_the_lanes_as_they_are():
    assert lanes_of("abxabyab") == [0, 1, 0, 0, 1, 0, 0, 1]


def test_a_lane_is_free_again_when_its_call_comes_no_more():
    assert lanes_of("aabb") == [0, 0, 0, 0]


def test_a_call_that_comes_back_much_later_takes_its_old_lane():
    apart = [str(number) for number in range(30)]
    assert lanes_of([*"abab", *apart, *"baba"])[-4:] == [1, 0, 1, 0]


def test_a_call_whose_lane_was_taken_meanwhile_gets_another():
    apart = [str(number) for number in range(30)]
    assert lanes_of([*"aa", *apart, *"xaxaxa"])[-6:] == [0, 1] * 3


def test_there_are_never_more_lanes_than_fit():
    many = [chr(ord("a") + number) for number in range(LANES + 3)]
    assert lanes_of(many * 2) == [*range(LANES), *[LANES - 1] * 3] * 2


@given(calls)
def test_calls_that_alternate_closely_never_share_a_lane(run):
    different = sorted(set(run))[:LANES]
    lanes = lanes_of(different * 3)
    assert len(set(zip(different * 3, lanes))) == len(different)


@given(calls)
def test_the_marks_are_those_of_calls_that_come_back_most_frequent_first(run):
    marks = marks_of(run)
    assert set(marks) == {call for call in run if run.count(call) > 1}
    counts = [run.count(call) for call in sorted(marks, key=marks.get)]
    assert counts == sorted(counts, reverse=True)


def test_letters_go_on_after_z_and_are_all_different():
    names = [letters(number) for number in range(2000)]
    assert names[24:28] == ["Y", "Z", "AA", "AB"]
    assert len(set(names)) == 2000
