"""Looks between waits are paced by them."""

from hypothesis import given
from hypothesis import strategies as st

from antiloop import LoopDetector, ToolCall
from antiloop.loop_detection._evidence.streak import is_paced
from antiloop.loop_detection._evidence.window import Window


def test_a_wait_beside_a_look_is_a_wait_between_no_two_of_them_in_either_order():
    look, wait = (ToolCall("get_job"), "count 2"), (ToolCall("wait_for_job"), "ok")
    said = []
    for first in ([look, wait], [wait, look]):
        monitor = LoopDetector.escalating().monitor()
        monitor.after(*zip(*first))
        said.append([monitor.after([call], [told]).action for call, told in (look, wait, look)])
    assert said[0] == said[1]


@given(st.lists(st.sets(st.sampled_from(["get_page", "wait_agent"]), min_size=1), max_size=9))
def test_looks_are_paced_where_a_wait_lies_between_each_two(replies):
    window = Window()
    for names in replies:
        window.append([ToolCall(name) for name in sorted(names)], ["running"] * len(names))
    looks = [at for at, names in enumerate(replies) if "get_page" in names]
    parted = ["wait_agent" in set().union(*replies[a:b]) for a, b in zip(looks, looks[1:])]
    streak = [item for item in window if item.tool == "get_page"]
    assert is_paced(window, streak) == (bool(parted) and all(parted))
