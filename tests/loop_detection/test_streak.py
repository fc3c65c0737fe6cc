"""A quick look at a streak never rules one out."""

from hypothesis import given
from hypothesis import strategies as st

from antiloop import LoopDetector, ToolCall
from antiloop.loop_detection._evidence.sameness import say_alike
from antiloop.loop_detection._evidence.streak import is_paced, may_be_streak, streak_of
from antiloop.loop_detection._evidence.window import Window

ANSWERS = [
    *("a page", "another page", "Error: a 1", "Error: a 2", "Error: b", "2 failed", "1 failed"),
    *("No results found.", "", "running", None),
]
STEPS = st.tuples(st.sampled_from("fg"), st.integers(0, 2), st.sampled_from(ANSWERS))


@given(
    run=st.lists(st.lists(STEPS, min_size=1, max_size=2), min_size=1, max_size=20),
    fresh_per_match=st.sampled_from([0.0, 0.25, 1.0]),
)
def test_what_may_not_be_a_streak_is_none(run, fresh_per_match):
    window = Window()
    for steps in run:
        calls = [ToolCall(tool, {"n": n}) for tool, n, _ in steps]
        window.append(calls, [answer for _, _, answer in steps])
    for latest in [item.features for item in window.rounds[-1].evidence]:
        streak = streak_of(
            window,
            lambda item, latest=latest: (
                item.features.tool == latest.tool and say_alike(item.features, latest)
            ),
            fresh_per_match=fresh_per_match,
        )
        if streak:
            assert may_be_streak(window, latest, len(streak), fresh_per_match)


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
