"""An object that lists nothing is empty, whatever it says of the call itself."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import failed, features_of, step, verdicts

from antiloop import LoopDetector, ToolCall
from antiloop.loop_detection._evidence.outcome import Outcome, outcome

names = st.from_regex(r"[a-z]{4,9}", fullmatch=True)
words = st.lists(names, min_size=1, max_size=5).map(" ".join)
LISTS = st.sampled_from([{"results": []}, {"data": {"items": []}}, {"files": [], "total": 0}])
ABOUT = st.dictionaries(
    st.sampled_from(["status", "state", "message", "msg", "result"]),
    st.sampled_from(["success", "OK", "Succeeded"]),
) | st.sampled_from([{"code": 200}, {"statusCode": 204}, {"response_time": 0.8}, {"tookMs": 31}])
NAMES = "ash birch cedar dogwood elm fir ginkgo hazel ivy juniper larch maple oak".split()


@given(LISTS, ABOUT)
def test_how_the_call_went_is_no_content(lists, about):
    assert outcome(json.dumps({**about, **lists})) is Outcome.EMPTY
    assert outcome(json.dumps({**about, "name": "an oak"})) is not Outcome.EMPTY


@given(LISTS, ABOUT, names, st.sampled_from(["resultType", "kind", "object", "@type"]))
def test_the_kind_of_an_object_is_no_content(lists, about, kind, name):
    assert outcome(json.dumps({**about, "data": {name: kind, **lists}})) is Outcome.EMPTY
    told = {**about, name: f"{kind} of the other kind", **lists}
    assert outcome(json.dumps(told)) is not Outcome.EMPTY


@given(LISTS, ABOUT, words, st.sampled_from(["query", "folder"]))
def test_what_was_asked_is_no_content(lists, about, asked, name):
    answer = json.dumps({name: asked, **about, **lists})
    assert outcome(answer, arguments={"q": [asked, 3]}) is Outcome.EMPTY
    assert outcome(
        json.dumps({"content": [{"type": "text", "text": answer}]}), arguments=asked
    ) is (Outcome.EMPTY)
    assert outcome(answer, arguments={"q": "else"}) is not Outcome.EMPTY


@pytest.mark.parametrize(
    "answer",
    [
        {"results": ["a"], "query": "oak"},
        {"results": [], "score": 7},
        {"results": [], "code": 301},
        {"results": [], "verified": True, "owner": "oak trees"},
        {"query": "oak"},
        {"warnings": [], "query": "oak"},
    ],
)
def test_whatever_else_is_said_is_content(answer):
    assert outcome(json.dumps(answer), arguments={"query": "oak"}) is Outcome.SUCCESS


def actions(*steps):
    run = verdicts(LoopDetector.escalating(), *([each] for each in steps))
    return [each.action.value for each in run]


def searches(tool, names=NAMES):
    return [
        step(tool, json.dumps({"query": name, "results": [], "took_ms": at}), query=name)
        for at, name in enumerate(names)
    ]


@pytest.mark.parametrize("tool", ["search", "web_search", "tavilySearch"])
def test_a_search_that_repeats_the_question_each_time_ends(tool):
    assert actions(*searches(tool)).index("notify") <= 5
    assert "stop" in actions(*searches(tool))


@pytest.mark.parametrize("tool", ["register_tree", "trees"])
def test_a_tool_that_may_act_is_told_of_and_goes_on(tool):
    assert {"continue", "notify"} == set(actions(*searches(tool)))
    # Where it said that something failed, nothing was done.
    failures = [failed(tool, text, query=call.arguments["query"]) for call, text in searches(tool)]
    assert "stop" in actions(*failures)


def test_a_search_is_named_from_behind_too():
    assert features_of(ToolCall("file_search", {}), "a").only_looks
    assert not features_of(ToolCall("mark_as_read", {}), "a").only_looks
