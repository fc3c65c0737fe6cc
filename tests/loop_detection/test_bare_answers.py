"""An act that is answered with nothing has been done; a search found nothing."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import features_of, step, verdicts

from antiloop import LoopDetector, ToolCall
from antiloop.loop_detection._evidence.outcome import Outcome

NAMES = ["ash", "birch", "cedar", "dogwood", "elm", "fir", "ginkgo", "hazel", "ivy", "juniper"]
NAMES = [*NAMES, *(f"{name} tree" for name in NAMES)]
BARE = st.sampled_from(
    ["[]", "{}", "null", "[ ]", '{"success": true, "warned": []}', '{"data": {"items": []}}']
)
WRAPPED = st.sampled_from([str, lambda text: json.dumps([{"type": "text", "text": text}])])
ACTS = st.sampled_from(
    [
        ("create_event", lambda name: {"title": name}),
        ("lights", lambda name: {"action": "turn_off", "name": name}),
        ("db", lambda name: {"sql": f"INSERT INTO trees VALUES ('{name}')"}),
        (
            "run_query",
            lambda name: {"query": f"\n  UPDATE trees SET seen = 1 WHERE name = '{name}'"},
        ),
    ]
)
PRESETS = st.sampled_from([LoopDetector.default, LoopDetector.escalating, LoopDetector.thorough])


def actions(make, *steps):
    return {each.action.value for each in verdicts(make(), *([each] for each in steps))}


@given(PRESETS, ACTS, BARE, WRAPPED)
def test_different_acts_that_are_answered_with_nothing_are_work(make, act, answer, wrap):
    tool, arguments = act
    run = [step(tool, wrap(answer), **arguments(name)) for name in NAMES]
    assert actions(make, *run) == {"continue"}
    # The same act again is a loop, whatever it is answered.
    assert actions(make, *[run[0]] * 4) != {"continue"}


@given(ACTS, st.sampled_from(["No matches found", "Error: 0 rows found", "nothing found"]), WRAPPED)
def test_an_act_that_says_that_it_found_nothing_is_in_vain(act, answer, wrap):
    tool, arguments = act
    assert features_of(ToolCall(tool, arguments("a")), wrap(answer)).outcome is Outcome.EMPTY


@given(BARE, st.sampled_from(["find_trees", "trees", "web_search"]))
def test_a_search_that_is_answered_with_nothing_found_nothing(answer, tool):
    run = [step(tool, answer, name=name) for name in NAMES]
    assert "notify" in actions(LoopDetector.escalating, *run)


@pytest.mark.parametrize("query", ["SELECT a FROM b", "insert coin", "INSERT", "UPdate a", ""])
def test_what_is_no_statement_of_sql_looks(query):
    assert features_of(ToolCall("db", {"n": 1, "query": query}), "[]").outcome is Outcome.EMPTY


@given(
    st.sampled_from([("next_item", "approve"), ("peek", "skip"), ("current_mail", "archive")]),
    st.sampled_from(['{"ok": true}', "ok", "true", "Done."]),
)
def test_the_same_act_after_each_new_item_is_never_refused(tools, answer):
    look, act = tools
    run = [each for name in NAMES for each in (step(look, f"about the {name}"), step(act, answer))]
    assert actions(LoopDetector.thorough, *run) == {"continue"}
    assert actions(LoopDetector.escalating, *run) <= {"continue", "notify"}
    # Without a new item, the two are a loop.
    assert "stop" in actions(LoopDetector.escalating, *run[:2] * 9)
