"""A conversation whose beginning is forgotten goes on as one that is whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop.formats import _growing_history as growing_history
from antiloop.formats._growing_history import KEPT_IDS, GrowingHistory, keep_latest
from antiloop.formats._history_builder import HistoryBuilder
from antiloop.types import ToolCall, ToolResult

STEPS = st.one_of(
    st.tuples(
        st.just("calls"), st.lists(st.sampled_from([None, "a", "b"]), min_size=1, max_size=3)
    ),
    st.tuples(st.just("result"), st.sampled_from([None, "a", "b", "unseen"])),
    st.tuples(st.just("said"), st.sampled_from(["user", "model"])),
)


def play(builder, steps, after_each):
    """Have this conversation; calls that are answered, or that later ones follow, are judged."""
    judged = 0
    for number, (kind, what) in enumerate(steps):
        if kind == "calls":
            judged = len(builder)
            for position, call_id in enumerate(what):
                own = call_id and f"{call_id}{number}.{position}"
                builder.add_call("tool", {"n": number}, own, number)
        elif kind == "result":
            calls = builder.build(judged).calls
            own = next((each.id for each in calls if (each.id or "")[:1] == what), what)
            builder.add_result(ToolResult(str(number)), own, "tool")
        elif what == "user":
            builder.add_user_message(f"words {number}")
        else:
            builder.add_reply(f"words {number}")
        after_each(builder, judged)
    return judged


@pytest.mark.parametrize("call_id", [None, "c"])
def test_an_old_id_that_is_used_again_is_not_forgotten_while_its_call_waits(call_id):
    history = HistoryBuilder()
    for number, each in enumerate([call_id, *map(str, range(KEPT_IDS)), call_id]):
        history.add_call("tool", {"n": number}, each, number)
        if number <= KEPT_IDS:
            history.add_result(ToolResult("done"), each, "tool")
    history.forget(KEPT_IDS)
    history.add_result(ToolResult("late"), call_id, "tool")
    assert history.build(KEPT_IDS + 1).results == (ToolResult("late"),)


@given(st.lists(STEPS, max_size=60))
def test_what_is_forgotten_changes_nothing_of_what_comes_later(steps):
    growing_history._AT_ONCE, before = 1, growing_history._AT_ONCE
    try:
        seen = [[], []]
        for forgets, each in zip((False, True), seen):

            def note(builder, judged, forgets=forgets, each=each):
                each.append(builder.build(judged))
                if forgets:
                    builder.forget(judged)

            play(HistoryBuilder(), steps, note)
        assert seen[0] == seen[1]
    finally:
        growing_history._AT_ONCE = before


def test_calls_are_forgotten_many_at_a_time_and_keep_their_numbers():
    history = GrowingHistory()
    for number in range(100):
        history.add(ToolCall("tool", {"n": number}))
    assert (history.forget(7), history.forget(64), len(history)) == (0, 64, 100)
    assert history.calls[0].arguments == {"n": 64}
    history.set_result(64, ToolResult("now"))
    history.set_result(3, ToolResult("too late"))
    assert [each for each in history.results if each] == [ToolResult("now")]
    assert history.results[0] == ToolResult("now")


def test_the_latest_round_is_kept():
    history = GrowingHistory()
    for number in range(100):
        history.add(ToolCall("tool", round=min(number, 70)))
    assert (history.forget(100), len(history.calls)) == (70, 30)


def test_the_latest_ids_are_remembered():
    known = dict.fromkeys(range(1_005))
    keep_latest(known)
    assert (len(known), min(known)) == (1_000, 5)
